/**
 * SQLite with statistics (STAT4) looks at what is bound to a parameter where that may change its plan: a LIMIT, a value
 * compared with a column that is sorted or joined by. Whenever another value is bound it prepares the statement anew,
 * which takes several times as long as a seek. We keep no statistics, so it never finds a better plan by that: the
 * parameters are written so that it does not look. https://sqlite.org/queryplanner-ng.html#qpstab
 */

const QUERY = /^\s*(?:SELECT|WITH)\b/i
/** Text in quotes as it is; a parameter with the word before it, when that is LIMIT or OFFSET. */
const PARAMETER = /'[^']*'|"[^"]*"|(\b(?:LIMIT|OFFSET)\s+)?\?/gi

export const withoutPeeking = (text: string): string =>
  QUERY.test(text)
    ? text.replace(PARAMETER, (part: string, limit: string | undefined) =>
        !part.endsWith('?') ? part : limit === undefined ? '+?' : `${limit}(? + 0)`,
      )
    : text
