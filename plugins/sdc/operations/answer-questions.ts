/** Answers what a thread asks on behalf of the caller of an operation. */
import { isServerError, type OwnUrl, type Random } from '../../../kernel/index.ts'
import type { SessionReads } from '../../fhir/service.ts'
import type { Definitions } from '../../packages/service.ts'
import type { Terminology } from '../../terminology/service.ts'
import type { Code } from '../threads/ask.ts'
import type { AnswerQuestion } from '../threads/evaluation-threads.ts'
import { findQuestionnaire } from './find-questionnaire.ts'
import { runQuery } from './run-query.ts'

/** Codes of a value set that are looked through; of a larger one it cannot be told. */
const MAX_CODES = 50_000
/** All that the queries of one job may bring. */
const MAX_CHARACTERS = 64 * 1024 * 1024

export interface AnswerParts {
  readonly definitions: Pick<Definitions, 'find'>
  readonly terminology: Terminology | undefined
  readonly random: Random
}

/** Undefined where this server cannot tell. */
export const createFindCodes =
  (terminology: Terminology | undefined) =>
  async (valueSet: string, system: string | undefined, code: string): Promise<readonly Code[] | undefined> => {
    try {
      const all = await terminology?.expand(valueSet, MAX_CODES)
      const found = all?.filter((one) => one.code === code && (system === undefined || one.system === system))
      // Plain objects: those of the terminology may have members that no thread can be sent.
      return found?.map((one) => ({ system: one.system, code: one.code }))
    } catch (error) {
      if (isServerError(error) && error.status < 500) return undefined
      throw error
    }
  }

/** `data` reads as the caller. */
export const createAnswerQuestions = (
  { definitions, terminology, random }: AnswerParts,
  data: Pick<SessionReads, 'read' | 'search'>,
  ownUrl: OwnUrl | undefined,
): AnswerQuestion => {
  const findCodes = createFindCodes(terminology)
  let characters = 0
  return async (question) => {
    switch (question.kind) {
      case 'query': {
        const reading = await runQuery(data, question.query, ownUrl)
        characters += 'json' in reading ? reading.json.length : 0
        return characters > MAX_CHARACTERS ? { refused: 'All queries together find more than is taken here.' } : reading
      }
      case 'codes':
        return findCodes(question.valueSet, question.system, question.code)
      case 'definition':
        return (await definitions.find('StructureDefinition', question.url.split('|')[0] as string))?.json
      case 'questionnaire': {
        const found = await findQuestionnaire({ data, definitions }, question.canonical)
        return found === undefined ? undefined : JSON.stringify(found)
      }
      case 'id':
        return random.id()
    }
  }
}
