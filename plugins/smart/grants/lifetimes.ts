/** How long codes and tokens of people are valid. */

/** RFC 6749 allows ten minutes; SMART asks for about one. */
export const CODE_SECONDS = 60
/** SMART: an access token lives an hour at most. */
export const ACCESS_SECONDS = 3_600
/** The end of a grant with `offline_access`, however often it is refreshed: then the person consents again. */
export const OFFLINE_MS = 180 * 24 * 3_600_000
/** A refresh token that is not used for this long expires. */
export const IDLE_MS = 30 * 24 * 3_600_000
