/** An operation of this plugin itself, which may see all of the server. */

import type { BuiltInInvocation } from '../parts.ts'
import type { Operation } from './operation.ts'

export type BuiltInOperation = Operation<BuiltInInvocation>
