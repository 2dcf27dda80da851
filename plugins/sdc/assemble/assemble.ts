/** Makes one Questionnaire of a modular one. https://hl7.org/fhir/uv/sdc/modular.html */
import { type Evaluator, ExpressionFailed } from '../expressions/evaluator.ts'
import { createIssueList } from '../expressions/issue-list.ts'
import { plainValue } from '../expressions/plain-value.ts'
import {
  extensionsOf,
  extensionValue,
  partOf,
  readExpression,
  URLS,
  valueIn,
  variablesOf,
} from '../questionnaire/extensions.ts'
import { canonicalOf, type Item, itemsOf } from '../questionnaire/items.ts'
import { isObject, type Json, objectsIn, textOf } from '../questionnaire/json.ts'
import type { Ask } from '../threads/ask.ts'
import { JobRefused } from '../threads/job-refused.ts'
import { createApplyDefinition } from './apply-definition.ts'
import type { Assembled, AssembleInput } from './assemble-contract.ts'

const MAX_MODULES = 200
const PREFIX = 'linkIdPrefix'
/** Extensions of a module that belong to the root of what is assembled; others go to the item around it. */
const OF_ROOT: ReadonlySet<unknown> = new Set([URLS.launchContext, URLS.library])
/** Extensions of a module that say how it is assembled. */
const OF_MODULE: ReadonlySet<unknown> = new Set([URLS.assembleExpectation, URLS.assembleContext, URLS.assembledFrom])
const GENERAL = 'http://hl7.org/fhir/5.0/StructureDefinition/'

/** What is there at an item: names of variables, and the value of the prefix of linkIds. */
interface Scope {
  readonly names: ReadonlySet<string>
  readonly prefix: string
  /** The modules around it, against circles. */
  readonly modules: readonly string[]
}

const refused = (why: string): JobRefused => new JobRefused('not-assembled', why.slice(0, 500))

const namesIn = (element: Json): readonly string[] => {
  const context = readExpression(extensionValue(element, URLS.itemPopulationContext))?.name
  const launch = extensionsOf(element, URLS.launchContext).flatMap((one) => {
    const name = partOf(one, 'name')
    return (isObject(name) ? textOf(name.code) : textOf(name)) ?? []
  })
  return [...variablesOf(element).map(({ name }) => name), ...launch, ...(context === undefined ? [] : [context])]
}

const withPrefix = (item: Item, prefix: string): Item => {
  if (prefix === '') return item
  const enableWhen = objectsIn(item.enableWhen).map((one) => ({ ...one, question: `${prefix}${String(one.question)}` }))
  return { ...item, linkId: `${prefix}${item.linkId}`, ...(enableWhen.length === 0 ? {} : { enableWhen }) }
}

const checkLinkIds = (items: readonly Item[], seen: Set<string>): void => {
  for (const item of items) {
    if (seen.has(item.linkId))
      throw refused(
        `the linkId "${item.linkId}" is there twice; a module with the assembleContext ${PREFIX} gets a prefix`,
      )
    seen.add(item.linkId)
    checkLinkIds(itemsOf(item), seen)
  }
}

export const assemble = async (
  { questionnaire }: AssembleInput,
  evaluator: Evaluator,
  ask: Ask,
): Promise<Assembled> => {
  const issues = createIssueList()
  const applyDefinition = createApplyDefinition(ask)
  const rootExtensions: Json[] = []
  const assembledFrom = new Set<string>()
  const contained = new Map(objectsIn(questionnaire.contained).map((one) => [String(one.id), one]))
  let modules = 0

  const enter = (element: Json, outer: Scope): Scope => {
    let { prefix } = outer
    for (const { name, expression } of variablesOf(element)) {
      if (name !== PREFIX) continue
      try {
        const [value] = evaluator.evaluate(expression, {}, { [PREFIX]: [outer.prefix] })
        prefix = String(plainValue(value) ?? '')
      } catch (error) {
        if (error instanceof ExpressionFailed) throw refused(error.message)
        throw error
      }
    }
    return { ...outer, prefix, names: new Set([...outer.names, ...namesIn(element)]) }
  }
  const contain = (module: Json): void => {
    for (const one of objectsIn(module.contained)) {
      const id = String(one.id)
      const known = contained.get(id)
      if (known !== undefined && JSON.stringify(known) !== JSON.stringify(one))
        throw refused(`two modules contain different resources with the id "${id}"`)
      contained.set(id, one)
    }
  }
  /** The items of a module, and the extensions that the element around them gets. */
  const moduleOf = async (canonical: string, scope: Scope) => {
    modules += 1
    if (modules > MAX_MODULES) throw refused(`there are more than ${MAX_MODULES} modules`)
    if (scope.modules.includes(canonical)) throw refused(`the module ${canonical} contains itself`)
    const json = await ask({ kind: 'questionnaire', canonical })
    if (json === undefined) throw refused(`there is no Questionnaire ${canonical} here that you may read`)
    const module = JSON.parse(json) as Json
    const wanted = extensionsOf(module, URLS.assembleContext).map(valueIn).map(String)
    const missing = wanted.find((name) => !scope.names.has(name))
    if (missing !== undefined)
      throw refused(`the module ${canonical} needs the variable %${missing}, which is not there`)
    assembledFrom.add(canonicalOf(module) ?? canonical)
    contain(module)
    const extensions = objectsIn(module.extension).filter(
      ({ url }) => !OF_MODULE.has(url) && !String(url).startsWith(GENERAL),
    )
    rootExtensions.push(...extensions.filter(({ url }) => OF_ROOT.has(url)))
    const prefix = wanted.includes(PREFIX) ? scope.prefix : ''
    const inner = enter(module, { ...scope, modules: [...scope.modules, canonical] })
    const { items, extension } = await assembleItems(itemsOf(module), inner, prefix)
    return { items, extension: [...extensions.filter(({ url }) => !OF_ROOT.has(url)), ...extension] }
  }
  /** `extension`: what modules that stand among the items give to the element around them. */
  const assembleItems = async (
    given: readonly Item[],
    scope: Scope,
    prefix: string,
  ): Promise<{ items: readonly Item[]; extension: readonly Json[] }> => {
    const items: Item[] = []
    const extension: Json[] = []
    for (const one of given) {
      const canonical = textOf(extensionValue(one, URLS.subQuestionnaire))
      if (canonical !== undefined) {
        const found = await moduleOf(canonical, scope)
        items.push(...found.items)
        extension.push(...found.extension)
        continue
      }
      const item = withPrefix(await applyDefinition(one), prefix)
      const below = await assembleItems(itemsOf(one), enter(one, scope), prefix)
      const extensions = [...objectsIn(item.extension), ...below.extension]
      items.push({
        ...item,
        ...(extensions.length === 0 ? {} : { extension: extensions }),
        ...(below.items.length === 0 ? {} : { item: below.items }),
      })
    }
    return { items, extension }
  }

  const scope = enter(questionnaire, { names: new Set(), prefix: '', modules: [canonicalOf(questionnaire) ?? ''] })
  const { items, extension } = await assembleItems(itemsOf(questionnaire), scope, '')
  checkLinkIds(items, new Set())
  if (assembledFrom.size === 0) issues.add('information', 'informational', 'The Questionnaire has no modules.')
  const {
    id: _id,
    meta: _meta,
    text: _text,
    extension: own,
    item: _item,
    contained: _contained,
    version,
    ...others
  } = questionnaire
  const all = [
    ...objectsIn(own).filter(({ url }) => url !== URLS.assembleExpectation),
    ...[...assembledFrom].map((valueCanonical) => ({ url: URLS.assembledFrom, valueCanonical })),
    ...rootExtensions,
    ...extension,
  ]
  const distinct = [...new Map(all.map((one) => [JSON.stringify(one), one])).values()]
  return {
    questionnaire: {
      ...others,
      ...(typeof version === 'string' ? { version: `${version}-assembled` } : {}),
      ...(contained.size === 0 ? {} : { contained: [...contained.values()] }),
      ...(distinct.length === 0 ? {} : { extension: distinct }),
      ...(items.length === 0 ? {} : { item: items }),
    },
    issues: issues.all,
  }
}
