/** The variables at the root of a Questionnaire: launch contexts, source queries, declared variables. */
import { type Evaluator, ExpressionFailed, type Variables } from '../expressions/evaluator.ts'
import { type ExpressionResolver, withoutBundles } from '../expressions/expression-resolver.ts'
import { fillQuery } from '../expressions/fill-query.ts'
import type { IssueList } from '../expressions/issue-list.ts'
import {
  extensionsOf,
  extensionValue,
  partOf,
  readExpression,
  URLS,
  valueIn,
  variablesOf,
} from '../questionnaire/extensions.ts'
import { containedIn } from '../questionnaire/items.ts'
import { isObject, type Json, objectsIn, textOf } from '../questionnaire/json.ts'
import type { GivenContext, PopulateInput } from './populate-contract.ts'

/** The name of a context that has the results of the source queries. */
const SOURCE_QUERIES = 'sourceQueries'

export interface RootParts {
  readonly input: PopulateInput
  readonly questionnaire: Json
  readonly response: Json
  readonly evaluator: Evaluator
  readonly resolver: ExpressionResolver
  readonly issues: IssueList
}

interface LaunchContext {
  readonly name: string
  readonly types: readonly string[]
}

const launchContextsOf = (questionnaire: Json): readonly LaunchContext[] =>
  extensionsOf(questionnaire, URLS.launchContext).flatMap((one) => {
    const named = partOf(one, 'name')
    const name = isObject(named) ? textOf(named.code) : textOf(named)
    const types = extensionsOf(one, 'type').flatMap((type) => textOf(valueIn(type)) ?? [])
    return name === undefined ? [] : [{ name, types }]
  })

const typeIn = (reference: string): string | undefined => /(?:^|\/)([A-Z][A-Za-z]+)\/[^/]+$/.exec(reference)?.[1]

/** The subject or the user of the request, where the context takes it. */
const ownReference = ({ name, types }: LaunchContext, { subject, user }: PopulateInput): string | undefined => {
  const reference = name === 'user' ? user : name === 'patient' || name === 'subject' ? subject : undefined
  if (reference === undefined) return undefined
  const type = typeIn(reference)
  return type !== undefined && (types.length === 0 || types.includes(type)) ? reference : undefined
}

const launchValue = async (
  context: LaunchContext,
  { input, resolver, issues }: RootParts,
): Promise<readonly unknown[]> => {
  const { name } = context
  const given = input.contexts.find((one) => one.name === name)
  if (given !== undefined) return given.content
  const reference = input.local === true ? ownReference(context, input) : undefined
  const read = reference === undefined ? undefined : await resolver.query(reference)
  if (read !== undefined) return [read]
  issues.add('information', 'informational', `The launch context "${name}" was not given, so it is empty.`)
  return []
}

/** Performs the queries of the contained batch; the answer has one entry for each. */
const performQueries = async (bundle: Json, variables: Variables, parts: RootParts): Promise<Json> => {
  const { evaluator, resolver, response, issues } = parts
  const entry: Json[] = []
  for (const { request } of objectsIn(bundle.entry)) {
    const { method, url } = isObject(request) ? request : {}
    if (method !== 'GET' || typeof url !== 'string') {
      issues.add('warning', 'not-supported', 'Source queries are performed with the method GET only.')
      entry.push({})
      continue
    }
    try {
      const filled = fillQuery(url, evaluator, response, variables)
      const resource = filled === undefined ? undefined : await resolver.query(filled)
      if (filled === undefined)
        issues.add(
          'information',
          'informational',
          `The query "${url.slice(0, 200)}" was not performed, because an expression in it has no value.`,
        )
      entry.push(resource === undefined ? {} : { resource })
    } catch (error) {
      if (!(error instanceof ExpressionFailed)) throw error
      issues.add('warning', 'processing', error.message)
      entry.push({})
    }
  }
  return { resourceType: 'Bundle', type: 'batch-response', entry }
}

const sourceQueries = async (variables: Variables, parts: RootParts): Promise<Variables> => {
  const { questionnaire, input, issues } = parts
  const reference = extensionValue(questionnaire, URLS.sourceQueries)
  if (!isObject(reference)) return {}
  const bundle = containedIn(questionnaire, reference.reference)
  if (bundle === undefined) {
    issues.add('warning', 'not-found', 'The source queries are not contained in the Questionnaire.')
    return {}
  }
  const given = input.contexts.find(({ name }) => name === SOURCE_QUERIES)
  const value = given === undefined ? [await performQueries(bundle, variables, parts)] : given.content
  return { [String(bundle.id)]: value, [SOURCE_QUERIES]: value }
}

const warnOfUnknown = (contexts: readonly GivenContext[], known: ReadonlySet<string>, issues: IssueList): void => {
  for (const { name } of contexts)
    if (!known.has(name))
      issues.add(
        'warning',
        'not-found',
        `The context "${name.slice(0, 100)}" is no launch context or variable of the Questionnaire.`,
      )
}

export const rootVariables = async (parts: RootParts): Promise<Variables> => {
  const { input, questionnaire, response, resolver, issues } = parts
  const launch = launchContextsOf(questionnaire)
  const declared = variablesOf(questionnaire)
  let variables: Variables = { resource: response, rootResource: response, questionnaire }
  for (const context of launch) variables = { ...variables, [context.name]: await launchValue(context, parts) }
  variables = { ...variables, ...(await sourceQueries(variables, parts)) }
  for (const one of declared) {
    const given = input.contexts.find(({ name }) => name === one.name)
    const value = given?.content ?? (await resolver.resolve(one, { focus: response, variables }))
    variables = { ...variables, [one.name]: value }
  }
  const context = readExpression(extensionValue(questionnaire, URLS.itemPopulationContext))
  if (context?.name !== undefined) {
    const found = withoutBundles(await resolver.resolve(context, { focus: response, variables }))
    variables = { ...variables, [context.name]: found.slice(0, 1) }
  }
  warnOfUnknown(
    input.contexts,
    new Set([...launch, ...declared].map(({ name }) => name).concat(SOURCE_QUERIES)),
    issues,
  )
  return variables
}
