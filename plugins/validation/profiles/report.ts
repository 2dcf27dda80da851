import type { Issue } from '../../../kernel/index.ts'
import type { LocationPath } from './element-location.ts'
import type { Severity } from './value-rules.ts'

/** Reports an issue of the profile that is being checked. */
export type Report = (severity: Severity, code: Issue['code'], path: LocationPath, text: string) => void
