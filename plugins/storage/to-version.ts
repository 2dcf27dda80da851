import type { VersionRow } from './tables.ts'
import { StoredVersion } from './version.ts'

export const toVersion = (type: string, row: VersionRow | undefined): StoredVersion | undefined =>
  row === undefined ? undefined : new StoredVersion(type, row)
