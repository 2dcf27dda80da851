/** $populate: a QuestionnaireResponse with the answers that are known. */
import { isServerError } from '../../../kernel/index.ts'
import type { Inputs, Invocation, Operation } from '../../fhir/service.ts'
import { isOwnBase, readLiteral } from '../../model/service.ts'
import { InputRefused } from '../errors.ts'
import type { GivenContext, Populated } from '../populate/populate-contract.ts'
import { isObject, type Json, textOf } from '../questionnaire/json.ts'
import { createAnswerQuestions } from './answer-questions.ts'
import { withIssues } from './parameters.ts'
import { OTHER_QUESTIONNAIRES, QUESTIONNAIRE, requestedQuestionnaire } from './requested-questionnaire.ts'
import type { SdcParts } from './sdc-parts.ts'

/** `Patient/1` where the reference means a resource of this server; undefined where it does not. */
const localReference = ({ request }: Invocation, reference: string | undefined): string | undefined => {
  const literal = reference === undefined ? undefined : readLiteral(reference)
  if (literal === undefined || !isOwnBase(literal.base, request.ownUrl)) return undefined
  return `${literal.type}/${literal.id}`
}

/** The resource of a context, or the one that its Reference names, read as the caller. Throws 400. */
const contentOf = async (invocation: Invocation, name: string, value: unknown): Promise<Json> => {
  if (isObject(value) && typeof value.resourceType === 'string') return value
  const text = isObject(value) ? textOf(value.reference) : undefined
  const local = localReference(invocation, text)
  if (local === undefined)
    throw InputRefused(
      'populate',
      `the content of the context "${name.slice(0, 100)}" is a resource, or a Reference to one on this server`,
    )
  const [type, id] = local.split('/') as [string, string]
  try {
    return (await invocation.data.read(type, id)).parse()
  } catch (error) {
    if (!isServerError(error) || ![403, 404, 410].includes(error.status)) throw error
    throw InputRefused(
      'populate',
      `the context "${name.slice(0, 100)}" names ${local}, which is not here or not for you to read`,
    )
  }
}

const contextsOf = async (invocation: Invocation): Promise<readonly GivenContext[]> => {
  const contexts: GivenContext[] = []
  for (const one of invocation.inputs.all<Inputs>('context')) {
    const name = one.get<string>('name') ?? ''
    const content: Json[] = []
    for (const value of one.all('content')) content.push(await contentOf(invocation, name, value))
    if (contexts.some((other) => other.name === name))
      throw InputRefused('populate', `the context "${name.slice(0, 100)}" is given twice; give its resources in one`)
    contexts.push({ name, content })
  }
  return contexts
}

export const populateOperation = (parts: SdcParts): Operation => ({
  code: 'populate',
  definition: 'http://hl7.org/fhir/uv/sdc/OperationDefinition/Questionnaire-populate',
  documentation: 'A QuestionnaireResponse with the answers that are known of its subject.',
  levels: ['type', 'instance'],
  types: ['Questionnaire'],
  get isListed() {
    return parts.isInstalled()
  },
  parameters: [
    QUESTIONNAIRE,
    ...OTHER_QUESTIONNAIRES,
    { name: 'subject', type: 'Reference', documentation: 'The subject of the response.' },
    {
      name: 'context',
      max: '*',
      documentation: 'Resources for a launch context or a variable of the Questionnaire.',
      part: [
        { name: 'name', type: 'string', min: 1, documentation: 'The name of the launch context or variable.' },
        {
          name: 'content',
          type: 'Element',
          orResource: true,
          min: 1,
          max: '*',
          documentation: 'A resource, or a Reference to one on this server.',
        },
      ],
    },
    { name: 'local', type: 'boolean', documentation: 'True: what is stored here about the subject is used.' },
  ],
  async answer(invocation) {
    parts.checkInstalled('populate')
    const { inputs, data, request } = invocation
    const questionnaire = await requestedQuestionnaire('populate', invocation, parts.definitions)
    const subjectReference = inputs.get<Json>('subject')
    const input = {
      questionnaire,
      subjectReference,
      subject: localReference(invocation, textOf(subjectReference?.reference)),
      user: localReference(invocation, request.caller.user),
      contexts: await contextsOf(invocation),
      local: inputs.get<boolean>('local'),
      now: new Date(parts.clock.now()).toISOString(),
    }
    const answer = createAnswerQuestions(parts, data, request.ownUrl)
    const done = await parts.threads.run({ kind: 'populate', input }, answer, request.signal)
    const { response, issues } = done as unknown as Populated
    return withIssues({ name: 'response', resource: response }, issues, 'issues')
  },
})
