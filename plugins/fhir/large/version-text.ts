import { decompressBody } from '../../storage/thread-service.ts'
import type { PackedVersion } from './task.ts'

/** The JSON of a version. */
export const versionTextOf = ({ bytes, encoding }: PackedVersion): string =>
  decompressBody(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), encoding).toString('utf8')
