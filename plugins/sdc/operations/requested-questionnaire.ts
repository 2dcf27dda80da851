/** The Questionnaire that an operation is asked about: that of the address, or of one of its parameters. */
import { isServerError } from '../../../kernel/index.ts'
import type { Invocation, OperationParameter } from '../../fhir/service.ts'
import { isOwnBase, readLiteral } from '../../model/service.ts'
import type { Definitions } from '../../packages/service.ts'
import { InputRefused, QuestionnaireUnknown, QuestionnaireWanted } from '../errors.ts'
import { isObject, type Json, textOf } from '../questionnaire/json.ts'
import { findQuestionnaire } from './find-questionnaire.ts'

export const QUESTIONNAIRE: OperationParameter = {
  name: 'questionnaire',
  type: 'Element',
  orResource: true,
  documentation: 'The Questionnaire: its canonical, a Reference to it, or the resource.',
}
export const OTHER_QUESTIONNAIRES: readonly OperationParameter[] = [
  { name: 'canonical', type: 'canonical', documentation: 'The canonical of the Questionnaire.' },
  { name: 'questionnaireRef', type: 'Reference', documentation: 'A Reference to the Questionnaire.' },
  { name: 'identifier', type: 'Identifier', documentation: 'An identifier of the Questionnaire.' },
]

/** A name of what was asked for, short enough for a message. */
const shortened = (name: string): string => name.slice(0, 200)

const byReference = async (
  { data, request }: Invocation,
  definitions: Pick<Definitions, 'find'>,
  reference: string,
): Promise<Json | undefined> => {
  const literal = readLiteral(reference)
  if (literal === undefined || !isOwnBase(literal.base, request.ownUrl))
    return findQuestionnaire({ data, definitions }, reference)
  if (literal.type !== 'Questionnaire') return undefined
  try {
    return (await data.read('Questionnaire', literal.id)).parse()
  } catch (error) {
    if (isServerError(error) && [403, 404, 410].includes(error.status)) return undefined
    throw error
  }
}

const byIdentifier = async ({ data }: Invocation, { system, value }: Json): Promise<Json | undefined> => {
  const escaped = (text: unknown): string => String(text).replace(/[\\,$|]/g, '\\$&')
  const token = system === undefined ? escaped(value) : `${escaped(system)}|${escaped(value)}`
  const page = await data.search('Questionnaire', new URLSearchParams({ identifier: token, _count: '1' }).toString())
  return page.matches[0]?.parse()
}

/** Throws 400, 404. */
export const requestedQuestionnaire = async (
  operation: string,
  invocation: Invocation,
  definitions: Pick<Definitions, 'find'>,
): Promise<Json> => {
  const { inputs, interaction, data } = invocation
  if (interaction.id !== undefined) return (await data.read('Questionnaire', interaction.id)).parse()
  const asked = ['questionnaire', 'canonical', 'questionnaireRef', 'identifier'].filter(
    (name) => inputs.get(name) !== undefined,
  )
  const [name] = asked
  if (name === undefined || asked.length > 1)
    throw QuestionnaireWanted(operation, 'a Questionnaire: as questionnaire, canonical, questionnaireRef or identifier')
  const value = inputs.get<unknown>(name)
  const find = async (): Promise<{ readonly found: Json | undefined; readonly called: string }> => {
    if (name === 'identifier' && isObject(value)) {
      if (typeof value.value !== 'string') throw InputRefused(operation, 'an identifier needs a value')
      return { found: await byIdentifier(invocation, value), called: value.value }
    }
    if (isObject(value) && typeof value.resourceType === 'string') {
      if (value.resourceType === 'Questionnaire') return { found: value, called: '' }
      throw InputRefused(operation, `questionnaire is a Questionnaire, and ${shortened(value.resourceType)} was sent`)
    }
    const text = isObject(value) ? textOf(value.reference) : textOf(value)
    if (text === undefined) throw InputRefused(operation, `${name} is a canonical, a Reference or a Questionnaire`)
    return { found: await byReference(invocation, definitions, text), called: text }
  }
  const { found, called } = await find()
  if (found === undefined) throw QuestionnaireUnknown(shortened(called))
  return found
}
