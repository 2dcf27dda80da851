/**
 * SQLite with statistics (STAT4) looks at the values bound to parameters where they may change its plan: a LIMIT, or a
 * value compared with a sorted or joined column. It then prepares the statement again whenever another value is bound,
 * which takes several times as long as a seek. This server keeps no statistics, so the plan is never better: parameters
 * are rewritten so that SQLite does not look at them. https://sqlite.org/queryplanner-ng.html#qpstab
 */

const QUERY = /^\s*(?:SELECT|WITH)\b/i
/** Matches text in quotes, which is kept, and parameters, with LIMIT or OFFSET before them. */
const PARAMETER = /'[^']*'|"[^"]*"|(\b(?:LIMIT|OFFSET)\s+)?\?/gi

export const withoutPeeking = (text: string): string =>
  QUERY.test(text)
    ? text.replace(PARAMETER, (part: string, limit: string | undefined) =>
        !part.endsWith('?') ? part : limit === undefined ? '+?' : `${limit}(? + 0)`,
      )
    : text
