/** Every error of this plugin and of those that are composed with it, for the table of status codes. */
import * as modelErrors from '../model/errors.ts'
import * as searchErrors from '../search/errors.ts'
import * as storageErrors from '../storage/errors.ts'
import * as bundleErrors from './bundle/errors.ts'
import * as ownErrors from './errors.ts'
import * as largeErrors from './large/errors.ts'
import * as operationErrors from './operations/errors.ts'
import * as patchErrors from './patch/errors.ts'

export const allErrors = {
  ...modelErrors,
  ...storageErrors,
  ...ownErrors,
  ...bundleErrors,
  ...largeErrors,
  ...operationErrors,
  ...patchErrors,
  ...searchErrors,
}
