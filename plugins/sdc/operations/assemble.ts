/** $assemble: one Questionnaire, made of a modular one. */
import type { Operation } from '../../fhir/service.ts'
import type { Assembled } from '../assemble/assemble-contract.ts'
import { createAnswerQuestions } from './answer-questions.ts'
import { aloneOrWithIssues } from './parameters.ts'
import { OTHER_QUESTIONNAIRES, QUESTIONNAIRE, requestedQuestionnaire } from './requested-questionnaire.ts'
import type { SdcParts } from './sdc-parts.ts'

export const assembleOperation = (parts: SdcParts): Operation => ({
  code: 'assemble',
  definition: 'http://hl7.org/fhir/uv/sdc/OperationDefinition/Questionnaire-assemble',
  documentation: 'A Questionnaire whose modules are put in their places.',
  levels: ['type', 'instance'],
  types: ['Questionnaire'],
  get isListed() {
    return parts.isInstalled()
  },
  parameters: [QUESTIONNAIRE, ...OTHER_QUESTIONNAIRES],
  async answer(invocation) {
    parts.checkInstalled('assemble')
    const { data, request } = invocation
    const questionnaire = await requestedQuestionnaire('assemble', invocation, parts.definitions)
    const job = { kind: 'assemble', input: { questionnaire } } as const
    const answer = createAnswerQuestions(parts, data, request.ownUrl)
    const done = (await parts.threads.run(job, answer, request.signal)) as unknown as Assembled
    return aloneOrWithIssues(done.questionnaire, done.issues, 'outcome')
  },
})
