/** Gives the values of Expressions in both languages, and collects what cannot be evaluated as issues. */
import { type Expression, FHIR_QUERY, FHIRPATH } from '../questionnaire/extensions.ts'
import { isObject, type Json, objectsIn } from '../questionnaire/json.ts'
import type { Ask } from '../threads/ask.ts'
import { type Evaluator, ExpressionFailed, type Variables } from './evaluator.ts'
import { fillQuery } from './fill-query.ts'
import type { IssueList } from './issue-list.ts'
import { plainValue } from './plain-value.ts'

/** Where an expression stands. */
export interface ExpressionPlace {
  readonly focus: unknown
  /** The path of a focus that is JSON of an element. */
  readonly base?: string
  readonly variables: Variables
  readonly linkId?: string
}

export interface ExpressionResolver {
  /** The values, as nodes. A FHIR query gives the Bundle or the resource that it found. Empty where it cannot be evaluated. */
  resolve(expression: Expression, place: ExpressionPlace): Promise<readonly unknown[]>
  /** Performs a query whose expressions are filled in. */
  query(query: string, linkId?: string): Promise<Json | undefined>
}

export interface ResolverParts {
  readonly evaluator: Evaluator
  readonly ask: Ask
  readonly issues: IssueList
  /** Why no queries are performed; undefined where they are. */
  readonly noQueries?: string | undefined
}

export const createExpressionResolver = ({ evaluator, ask, issues, noQueries }: ResolverParts): ExpressionResolver => {
  const query: ExpressionResolver['query'] = async (text, linkId) => {
    if (noQueries !== undefined) {
      issues.add(
        'information',
        'informational',
        `The query "${text.slice(0, 200)}" was not performed: ${noQueries}.`,
        linkId,
      )
      return undefined
    }
    const reading = await ask({ kind: 'query', query: text })
    if ('json' in reading) return JSON.parse(reading.json) as Json
    issues.add('warning', 'processing', `The query "${text.slice(0, 200)}" gave nothing: ${reading.refused}`, linkId)
    return undefined
  }
  return {
    query,
    async resolve({ language, expression }, { focus, base, variables, linkId }) {
      try {
        if (language === FHIRPATH) return evaluator.evaluate(expression, focus, variables, base)
        if (language !== FHIR_QUERY) {
          issues.add(
            'warning',
            'not-supported',
            `Expressions in ${language.slice(0, 50)} are not evaluated here.`,
            linkId,
          )
          return []
        }
        const filled = fillQuery(expression, evaluator, focus, variables, base)
        if (filled !== undefined) {
          const found = await query(filled, linkId)
          return found === undefined ? [] : [found]
        }
        const text = `The query "${expression.slice(0, 200)}" was not performed, because an expression in it has no value.`
        issues.add('information', 'informational', text, linkId)
        return []
      } catch (error) {
        if (!(error instanceof ExpressionFailed)) throw error
        issues.add('warning', 'processing', error.message, linkId)
        return []
      }
    },
  }
}

/** Bundles that queries found are replaced by their resources, but for what was included. */
export const withoutBundles = (values: readonly unknown[]): readonly unknown[] =>
  values.flatMap((value) => {
    const plain = plainValue(value)
    if (!isObject(plain) || plain.resourceType !== 'Bundle') return [value]
    return objectsIn(plain.entry).flatMap(({ resource, search }) =>
      isObject(resource) && (search as Json | undefined)?.mode !== 'include' ? [resource] : [],
    )
  })
