/** The paths of operations, from their declarations. https://hl7.org/fhir/R4/operations.html */
import { isPosted, type Operation, type OperationParameter } from '../fhir/service.ts'
import type { CapabilityStatement } from './capability-statement.ts'
import { contentOf, type Json, ref } from './components.ts'
import type { PathTable } from './path-table.ts'

const NOT_LISTED = 'This server is not set up for it, and refuses it.'

/** A query can hold what has a type that begins with a small letter: the primitive types. */
const isPrimitive = ({ type = '' }: OperationParameter): boolean => /^[a-z]/.test(type)

const queryOf = ({ name, type = '', min = 0, documentation }: OperationParameter): Json => ({
  name,
  in: 'query',
  ...(min > 0 && { description: `${documentation} Required, in the query or by POST.` }),
  ...(min === 0 && { description: documentation }),
  schema: { type: type === 'boolean' ? 'boolean' : type === 'integer' ? 'integer' : 'string' },
})

const placesOf = ({
  levels,
  types,
}: Operation): readonly (readonly [path: string, parameters: readonly string[], name: string])[] =>
  levels.flatMap((level): readonly (readonly [string, readonly string[], string])[] => {
    if (level === 'system') return [['', [], 'System']]
    const at = level === 'instance' ? '/{id}' : ''
    const id = level === 'instance' ? ['id'] : []
    const suffix = level === 'instance' ? 'Instance' : ''
    if (types === undefined) return [[`/{type}${at}`, ['type', ...id], `Type${suffix}`]]
    return types.map((type) => [`/${type}${at}`, id, `${type}${suffix}`] as const)
  })

export const addOperationPaths = (
  table: PathTable,
  statement: CapabilityStatement,
  operations: readonly Operation[],
): void => {
  for (const operation of operations) {
    const { code, documentation, parameters, isListed = true } = operation
    const description = isListed ? documentation : `${documentation} ${NOT_LISTED}`
    const shared = { tags: ['operations'], description }
    const responses = {
      200: { description: 'The answer of the operation.', content: contentOf(statement, 'Resource') },
      default: ref('responses', 'Error'),
    }
    for (const [at, named, name] of placesOf(operation)) {
      const inPath = named.map((one) => ref('parameters', one))
      const id = `${code.replaceAll('-', '_')}${name}`
      const post = {
        ...{ ...shared, operationId: `${id}ByPost`, parameters: inPath },
        requestBody: { content: contentOf(statement, 'Parameters') },
        responses,
      }
      const get = {
        ...shared,
        operationId: id,
        parameters: [...inPath, ...parameters.filter(isPrimitive).map(queryOf)],
        responses,
      }
      table.add('POST', `${at}/$${code}`, post)
      if (!isPosted(operation)) table.add('GET', `${at}/$${code}`, get)
    }
  }
}
