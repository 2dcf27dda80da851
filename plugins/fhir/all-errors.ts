/** Every error of this plugin and of those that are composed with it, for the table of status codes. */
import { modelErrors } from '../model/service.ts'
import { searchErrors } from '../search/service.ts'
import { storageErrors } from '../storage/service.ts'
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
