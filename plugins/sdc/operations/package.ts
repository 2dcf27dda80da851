/** $questionnaire-package: a Questionnaire with what it needs, in one Bundle. */
import type { Issue } from '../../../kernel/index.ts'
import type { Operation } from '../../fhir/service.ts'
import { EvaluationTooCostly } from '../errors.ts'
import { extensionsOf, URLS, valueIn } from '../questionnaire/extensions.ts'
import { itemsOf } from '../questionnaire/items.ts'
import { type Json, textOf } from '../questionnaire/json.ts'
import { findQuestionnaire } from './find-questionnaire.ts'
import { withIssues } from './parameters.ts'
import { OTHER_QUESTIONNAIRES, QUESTIONNAIRE, requestedQuestionnaire } from './requested-questionnaire.ts'
import type { SdcParts } from './sdc-parts.ts'

const MAX_RESOURCES = 500

interface Needed {
  readonly type: 'Questionnaire' | 'ValueSet' | 'Library'
  readonly canonical: string
}

/** What a Questionnaire or an item names by canonical. */
const neededBy = (element: Json): readonly Needed[] => {
  const named = (type: Needed['type'], value: unknown): readonly Needed[] => {
    const canonical = textOf(value)
    return canonical === undefined || canonical.startsWith('#') ? [] : [{ type, canonical }]
  }
  return [
    ...extensionsOf(element, URLS.library).flatMap((one) => named('Library', valueIn(one))),
    ...extensionsOf(element, URLS.subQuestionnaire).flatMap((one) => named('Questionnaire', valueIn(one))),
    ...named('ValueSet', element.answerValueSet),
    ...itemsOf(element).flatMap(neededBy),
  ]
}

export const packageOperation = (parts: SdcParts): Operation => ({
  code: 'questionnaire-package',
  definition: 'http://hl7.org/fhir/us/davinci-dtr/OperationDefinition/questionnaire-package',
  documentation: 'A Questionnaire with its modules, value sets and libraries.',
  levels: ['type', 'instance'],
  types: ['Questionnaire'],
  get isListed() {
    return parts.isInstalled()
  },
  parameters: [QUESTIONNAIRE, ...OTHER_QUESTIONNAIRES],
  async answer(invocation) {
    parts.checkInstalled('questionnaire-package')
    const { data } = invocation
    const { definitions } = parts
    const first = await requestedQuestionnaire('questionnaire-package', invocation, definitions)
    const resources: Json[] = [first]
    const issues: Issue[] = []
    const waiting = [...neededBy(first)]
    const seen = new Set<string>([`Questionnaire ${String(first.url)}`])
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { type, canonical } = next
      const key = `${type} ${canonical}`
      if (seen.has(key)) continue
      seen.add(key)
      const found = await findQuestionnaire({ data, definitions }, canonical, type)
      if (found === undefined) {
        const diagnostics = `There is no ${type} ${canonical.slice(0, 200)} here that you may read.`
        issues.push({ severity: 'warning', code: 'not-found', diagnostics })
        continue
      }
      resources.push(found)
      if (resources.length > MAX_RESOURCES) throw EvaluationTooCostly(`more than ${MAX_RESOURCES} resources`)
      if (type === 'Questionnaire') waiting.push(...neededBy(found))
    }
    const entry = resources.map((resource) => ({
      ...(typeof resource.url === 'string' ? { fullUrl: resource.url } : {}),
      resource,
    }))
    const bundle = { resourceType: 'Bundle', type: 'collection', entry }
    return withIssues({ name: 'PackageBundle', resource: bundle }, issues, 'Outcome')
  },
})
