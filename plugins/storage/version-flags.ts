/** The bits of the column `flags` of a version. Threads need them, so this file imports nothing. */

/** The version is a deletion. */
export const DELETED = 1
/** The body is stored as gzip. */
export const GZIP = 2
/** The body is raw deflate with the dictionary of small bodies, as earlier builds wrote it. */
export const DEFLATED = 16
/** The body has the format of body/lz.ts. */
export const LZ = 32
/** The bits that name the encoding of the body; none is set if the bytes are uncompressed. */
export const FORM = GZIP | DEFLATED | LZ
/** Two bits with the method that made the version, which history returns: an index into VERSION_METHODS. */
export const METHOD_SHIFT = 2
export const METHOD_BITS = 3
export const VERSION_METHODS = ['POST', 'PUT', 'DELETE', 'PATCH'] as const
export type Method = (typeof VERSION_METHODS)[number]
