/** The check of every QuestionnaireResponse that is written or validated. */
import type { Issue, RequestContext } from '../../../kernel/index.ts'
import type { AddedCheck } from '../../validation/service.ts'
import { URLS } from '../questionnaire/extensions.ts'
import { isObject, type Json } from '../questionnaire/json.ts'
import type { EvaluationThreads } from '../threads/evaluation-threads.ts'
import type { FindValueSetCodes } from './check-contract.ts'
import { checkResponse } from './check-response.ts'
import type { ReadQuestionnaire } from './read-questionnaire.ts'

/** What only a thread evaluates, because nothing else bounds its time. */
const EVALUATED: ReadonlySet<unknown> = new Set([
  ...[URLS.enableWhenExpression, URLS.targetConstraint, URLS.questionnaireConstraint],
  'http://hl7.org/fhir/StructureDefinition/regex',
])
/** Objects of a response that are checked on the main thread: this takes a few milliseconds. */
const MAX_OBJECTS = 2_000

const hasExpressions = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.some(hasExpressions)
  return isObject(value) && (EVALUATED.has(value.url) || Object.values(value).some(hasExpressions))
}

/** The number of objects in a value, counted up to the limit. */
const countObjects = (value: unknown, most: number): number => {
  if (typeof value !== 'object' || value === null) return 0
  let count = 1
  for (const inner of Object.values(value)) {
    if (count > most) break
    count += countObjects(inner, most - count)
  }
  return count
}

export interface ResponseCheckParts {
  readonly readQuestionnaire: ReadQuestionnaire
  readonly threads: EvaluationThreads
  readonly findCodes: FindValueSetCodes
}

const unknown = (questionnaire: unknown): Issue => ({
  severity: 'warning',
  code: 'not-found',
  diagnostics:
    typeof questionnaire === 'string'
      ? `The Questionnaire ${questionnaire.slice(0, 200)} is not here, or not for you to read, so the answers were not checked against it.`
      : 'The response names no Questionnaire, so the answers were not checked.',
  expression: ['QuestionnaireResponse.questionnaire'],
})

export const createResponseCheck = ({ readQuestionnaire, threads, findCodes }: ResponseCheckParts): AddedCheck => ({
  name: 'sdc: a response fits its Questionnaire',
  type: 'QuestionnaireResponse',
  level: 'rules',
  async check(response: Json, request: RequestContext | undefined) {
    const questionnaire = await readQuestionnaire(response, request)
    if (questionnaire === undefined) return [unknown(response.questionnaire)]
    const input = { questionnaire, response }
    const isSmall = countObjects(response, MAX_OBJECTS) + countObjects(questionnaire, MAX_OBJECTS) <= MAX_OBJECTS
    if (isSmall && !hasExpressions(questionnaire)) return checkResponse(input, { evaluator: undefined, findCodes })
    const done = await threads.run(
      { kind: 'check', input },
      async (question) =>
        question.kind === 'codes' ? findCodes(question.valueSet, question.system, question.code) : undefined,
      request?.signal,
    )
    return done.issues as readonly Issue[]
  },
})
