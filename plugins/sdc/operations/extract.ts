/** $extract: resources that are made of the answers of a QuestionnaireResponse. */
import type { Issue } from '../../../kernel/index.ts'
import type { Invocation, Operation, OperationAnswer } from '../../fhir/service.ts'
import { QuestionnaireUnknown, QuestionnaireWanted, ResponseRefused } from '../errors.ts'
import type { Extracted } from '../extract/extract-contract.ts'
import { isObject, type Json, objectsIn } from '../questionnaire/json.ts'
import { createAnswerQuestions } from './answer-questions.ts'
import { aloneOrWithIssues, withIssues } from './parameters.ts'
import { questionnaireOf } from './questionnaire-of.ts'
import type { SdcParts } from './sdc-parts.ts'

const DRAFTS: ReadonlySet<unknown> = new Set(['in-progress', 'stopped'])

const responseOf = async ({ interaction, inputs, data }: Invocation): Promise<Json> => {
  const { id } = interaction
  if (id !== undefined) return (await data.read('QuestionnaireResponse', id)).parse()
  const given = inputs.get<Json>('questionnaire-response')
  if (given === undefined)
    throw QuestionnaireWanted('extract', 'a QuestionnaireResponse, as questionnaire-response or in the address')
  return given
}

const NOTHING: Issue = {
  severity: 'information',
  code: 'informational',
  diagnostics: 'There is nothing to extract: no answered item says how.',
}

/** A single resource that is merely created is returned alone; what else its entry says would be lost. */
const isPlainCreate = ({ request }: Json): boolean =>
  isObject(request) && request.method === 'POST' && Object.keys(request).length === 2

const toAnswer = ({ bundle, issues }: Extracted): OperationAnswer => {
  if (bundle === undefined) {
    const { resource } = withIssues(
      { name: 'issues', resource: { resourceType: 'OperationOutcome', issue: [...issues, NOTHING] } },
      [],
      '',
    )
    return resource === undefined ? {} : { resource }
  }
  const [first, second] = objectsIn(bundle.entry)
  const isSingle = first !== undefined && second === undefined && isPlainCreate(first)
  return aloneOrWithIssues(isSingle ? (first.resource as Json) : bundle, issues, 'issues')
}

export const extractOperation = (parts: SdcParts): Operation => ({
  code: 'extract',
  definition: 'http://hl7.org/fhir/uv/sdc/OperationDefinition/QuestionnaireResponse-extract',
  documentation: 'The resources that the answers of a QuestionnaireResponse make, in a transaction Bundle.',
  levels: ['type', 'instance'],
  types: ['QuestionnaireResponse'],
  get isListed() {
    return parts.isInstalled()
  },
  parameters: [
    {
      name: 'questionnaire-response',
      type: 'QuestionnaireResponse',
      documentation: 'What is extracted; the one of the address when left out.',
    },
  ],
  async answer(invocation) {
    parts.checkInstalled('extract')
    const { data, request } = invocation
    const response = await responseOf(invocation)
    if (response.status === 'entered-in-error') throw ResponseRefused('extract', 'the response was entered in error')
    const questionnaire = await questionnaireOf({ data, definitions: parts.definitions }, response, request.ownUrl)
    if (questionnaire === undefined) throw QuestionnaireUnknown(String(response.questionnaire ?? '').slice(0, 200))
    const now = new Date(parts.clock.now()).toISOString()
    const job = { kind: 'extract', input: { questionnaire, response, now } } as const
    const answer = createAnswerQuestions(parts, data, request.ownUrl)
    const done = (await parts.threads.run(job, answer, request.signal)) as unknown as Extracted
    const draft: Issue = {
      severity: 'warning',
      code: 'business-rule',
      diagnostics: `The response is ${String(response.status)}, so what was extracted is preliminary.`,
    }
    return toAnswer(DRAFTS.has(response.status) ? { ...done, issues: [...done.issues, draft] } : done)
  },
})
