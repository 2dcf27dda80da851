/** $next-question: an adaptive form with one question more. */
import type { Operation } from '../../fhir/service.ts'
import type { NextQuestion } from '../adaptive/next-question-contract.ts'
import { QuestionnaireUnknown, ResponseRefused } from '../errors.ts'
import { containedIn } from '../questionnaire/items.ts'
import type { Json } from '../questionnaire/json.ts'
import { createAnswerQuestions } from './answer-questions.ts'
import { findQuestionnaire } from './find-questionnaire.ts'
import type { SdcParts } from './sdc-parts.ts'

export const nextQuestionOperation = (parts: SdcParts): Operation => ({
  code: 'next-question',
  definition: 'http://hl7.org/fhir/uv/sdc/OperationDefinition/Questionnaire-next-question',
  documentation: 'A QuestionnaireResponse whose contained Questionnaire has the next question.',
  levels: ['type'],
  types: ['Questionnaire'],
  get isListed() {
    return parts.isInstalled()
  },
  parameters: [
    {
      name: 'questionnaire-response',
      type: 'QuestionnaireResponse',
      min: 1,
      documentation: 'The answers so far, with the Questionnaire of their questions contained.',
    },
  ],
  async answer({ inputs, data, request }) {
    parts.checkInstalled('next-question')
    const response = inputs.get<Json>('questionnaire-response') as Json
    const contained = containedIn(response, response.questionnaire)
    if (contained?.resourceType !== 'Questionnaire')
      throw ResponseRefused(
        'next-question',
        'the response contains the Questionnaire of its questions, and names it by its id',
      )
    if (response.status !== 'in-progress') throw ResponseRefused('next-question', 'the response is not in progress')
    const [derivedFrom] = Array.isArray(contained.derivedFrom) ? contained.derivedFrom : []
    if (typeof derivedFrom !== 'string')
      throw ResponseRefused(
        'next-question',
        'the contained Questionnaire names in derivedFrom the one that has all questions',
      )
    const questionnaire = await findQuestionnaire({ data, definitions: parts.definitions }, derivedFrom)
    if (questionnaire === undefined) throw QuestionnaireUnknown(derivedFrom.slice(0, 200))
    const job = { kind: 'next-question', input: { response, contained, questionnaire } } as const
    const answer = createAnswerQuestions(parts, data, request.ownUrl)
    const done = (await parts.threads.run(job, answer, request.signal)) as unknown as NextQuestion
    return { resource: done.response }
  },
})
