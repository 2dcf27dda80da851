/** Refuses a release of SNOMED CT one of whose tables was cut off, or that lacks the packages it is made for. */
import { counted } from '../../../kernel/index.ts'
import { ReleaseFile as ReleaseFileError } from '../errors.ts'
import type { ReleaseFile } from './release-files.ts'
import { DEFINITION, IS_A } from './snomed-tables.ts'
import type { Staging } from './staging.ts'

/** Of so many concepts, one may lack what all have. */
const ONE_OF = 100
const ROOT = '138875005'

interface Check {
  /** Gives codes, and 1 for those that lack something. */
  readonly sql: string
  readonly verb: readonly [one: string, several: string]
  readonly what: string
}

const CHECKS: readonly Check[] = [
  {
    sql: 'SELECT code, NOT EXISTS (SELECT 1 FROM concept c WHERE c.code = n.code) AS lacks FROM (SELECT concept AS code FROM description WHERE active = 1 UNION SELECT concept FROM relation WHERE active = 1 UNION SELECT target FROM relation WHERE active = 1) n',
    verb: ['is', 'are'],
    what: 'named by descriptions and relationships, and in none of the files',
  },
  {
    sql: `SELECT code, NOT EXISTS (SELECT 1 FROM description d WHERE d.concept = c.code AND d.type <> '${DEFINITION}' AND d.active = 1) AS lacks FROM concept c WHERE active = 1`,
    verb: ['has', 'have'],
    what: 'no description',
  },
  {
    sql: `SELECT code, NOT EXISTS (SELECT 1 FROM relation r WHERE r.concept = c.code AND r.type = '${IS_A}' AND r.active = 1) AS lacks FROM concept c WHERE active = 1 AND code <> '${ROOT}'`,
    verb: ['has', 'have'],
    what: 'no parent',
  },
]

/** Throws `ReleaseFile`. `file`: with the concepts. */
export const checkSnomedWhole = (staging: Staging, file: ReleaseFile): void => {
  for (const { sql, verb, what } of CHECKS) {
    const { all, n, first } = staging
      .prepare(
        `SELECT count(*) AS "all", coalesce(sum(lacks), 0) AS n, min(code) FILTER (WHERE lacks) AS first FROM (${sql})`,
      )
      .get() as { all: number; n: number; first: string }
    if (n * ONE_OF > all)
      throw ReleaseFileError(
        file.label,
        `the release is not whole: ${counted(n, 'concept')} of ${all}, such as ${first}, ${verb[n === 1 ? 0 : 1]} ${what}; give all packages of the edition at once, as they were downloaded`,
      )
  }
}
