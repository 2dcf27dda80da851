/** The entries of the transaction that $extract gives. */
import { type Evaluator, ExpressionFailed, type Variables } from '../expressions/evaluator.ts'
import type { IssueList } from '../expressions/issue-list.ts'
import { plainValue } from '../expressions/plain-value.ts'
import { partOf, readExpression } from '../questionnaire/extensions.ts'
import type { Json } from '../questionnaire/json.ts'
import type { Ask } from '../threads/ask.ts'

/** Parts of `definitionExtract` and `templateExtract` that become members of `entry.request`. */
const CONDITIONS = ['ifNoneMatch', 'ifModifiedSince', 'ifMatch', 'ifNoneExist'] as const

export interface EntryParts {
  readonly evaluator: Evaluator
  readonly issues: IssueList
  readonly ask: Ask
}

/** The text of the first value of a part's expression; undefined where it has none. */
const textOfPart = (
  { evaluator, issues }: EntryParts,
  extension: Json,
  name: string,
  focus: unknown,
  variables: Variables,
): string | undefined => {
  const read = readExpression(partOf(extension, name))
  if (read === undefined) return undefined
  try {
    const [value] = evaluator.evaluate(read.expression, focus, variables)
    const plain = plainValue(value)
    return plain === undefined || typeof plain === 'object' ? undefined : String(plain)
  } catch (error) {
    if (!(error instanceof ExpressionFailed)) throw error
    issues.add('warning', 'processing', error.message)
    return undefined
  }
}

/** An update where the resource has an id, else a create. */
export const entryOf = async ({ ask }: Pick<EntryParts, 'ask'>, resource: Json, fullUrl?: string): Promise<Json> => {
  const { resourceType, id } = resource
  return {
    fullUrl: fullUrl ?? `urn:uuid:${await ask({ kind: 'id' })}`,
    resource,
    request: id === undefined ? { method: 'POST', url: resourceType } : { method: 'PUT', url: `${resourceType}/${id}` },
  }
}

/** The entry of a resource, as the extension says that makes it. */
export const entryAsked = async (
  parts: EntryParts,
  extension: Json,
  given: Json,
  focus: unknown,
  variables: Variables,
): Promise<Json> => {
  const asked = (name: string): string | undefined => textOfPart(parts, extension, name, focus, variables)
  const id = asked('resourceId')
  const resource = id === undefined ? given : { ...given, id }
  const entry = await entryOf(parts, resource, asked('fullUrl'))
  const conditions = CONDITIONS.flatMap((name) => {
    const text = asked(name)
    return text === undefined ? [] : [[name, text] as const]
  })
  return { ...entry, request: { ...(entry.request as Json), ...Object.fromEntries(conditions) } }
}
