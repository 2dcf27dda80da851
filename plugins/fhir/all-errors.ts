/** Every error of this plugin, for the table of status codes. */
import * as bundleErrors from './bundle/errors.ts'
import * as ownErrors from './errors.ts'
import * as largeErrors from './large/errors.ts'
import * as operationErrors from './operations/errors.ts'
import * as patchErrors from './patch/errors.ts'
import * as sessionErrors from './session/errors.ts'

export const allErrors = {
  ...ownErrors,
  ...bundleErrors,
  ...largeErrors,
  ...operationErrors,
  ...patchErrors,
  ...sessionErrors,
}
