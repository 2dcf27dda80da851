/** An operation of this plugin itself, which may see all of the server. */

import type { OwnInvocation } from '../parts.ts'
import type { Operation } from './operation.ts'

export type OwnOperation = Operation<OwnInvocation>
