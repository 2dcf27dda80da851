/** Makes the QuestionnaireResponse of $populate. https://hl7.org/fhir/uv/sdc/populate.html */
import type { Evaluator } from '../expressions/evaluator.ts'
import { createExpressionResolver } from '../expressions/expression-resolver.ts'
import { createIssueList } from '../expressions/issue-list.ts'
import { extensionsOf, extensionValue, URLS } from '../questionnaire/extensions.ts'
import { canonicalOf, itemsOf } from '../questionnaire/items.ts'
import { isObject, type Json, objectsIn, textOf } from '../questionnaire/json.ts'
import type { Ask } from '../threads/ask.ts'
import { JobRefused } from '../threads/job-refused.ts'
import type { Populated, PopulateInput } from './populate-contract.ts'
import { createPopulateItems } from './populate-items.ts'
import { rootVariables } from './root-variables.ts'

const FILLED_BY: readonly string[] = [URLS.initialExpression, URLS.itemPopulationContext, URLS.observationLinkPeriod]

/** True where an item says how it is filled in by something else than a StructureMap. */
const isFilledIn = (parent: Json): boolean =>
  FILLED_BY.some((url) => extensionsOf(parent, url).length > 0) ||
  objectsIn(parent.initial).length > 0 ||
  itemsOf(parent).some(isFilledIn)

/** Throws JobRefused. */
export const populate = async (input: PopulateInput, evaluator: Evaluator, ask: Ask): Promise<Populated> => {
  const { questionnaire, subjectReference, local, now } = input
  const issues = createIssueList()
  const map = textOf(extensionValue(questionnaire, URLS.sourceStructureMap))
  if (map !== undefined) {
    if (!isFilledIn(questionnaire))
      throw new JobRefused(
        'structure-map',
        'populate',
        map.slice(0, 200),
        'expressions or Observations to fill in the form',
      )
    issues.add(
      'warning',
      'not-supported',
      `The StructureMap "${map.slice(0, 200)}" is not executed here; the expressions of the Questionnaire are.`,
    )
  }
  const noQueries = local === false ? 'local is false' : undefined
  const resolver = createExpressionResolver({ evaluator, ask, issues, noQueries })
  const canonical = canonicalOf(questionnaire)
  const head: Json = {
    resourceType: 'QuestionnaireResponse',
    ...(canonical === undefined ? {} : { questionnaire: canonical }),
    status: 'in-progress',
    ...(subjectReference === undefined ? {} : { subject: subjectReference }),
    authored: now,
  }
  const variables = await rootVariables({ input, questionnaire, response: head, evaluator, resolver, issues })
  const subject = local === true ? input.subject : undefined
  const populateItems = createPopulateItems({
    ...{ evaluator, resolver, issues },
    observations: subject === undefined ? undefined : { subject, now },
    findCodes: (valueSet, code) => findCodes(questionnaire, valueSet, code, ask),
  })
  const items = await populateItems(itemsOf(questionnaire), variables)
  return { response: { ...head, ...(items.length === 0 ? {} : { item: items }) }, issues: issues.all }
}

/** Codes of a contained value set are those that it lists; all others are asked of the terminology. */
const findCodes = async (questionnaire: Json, valueSet: string, code: string, ask: Ask) => {
  if (!valueSet.startsWith('#')) return ask({ kind: 'codes', valueSet, system: undefined, code })
  const contained = objectsIn(questionnaire.contained).find(({ id }) => `#${id}` === valueSet)
  const { include } = isObject(contained?.compose) ? contained.compose : {}
  return objectsIn(include).flatMap(({ system, concept }) =>
    objectsIn(concept).some((one) => one.code === code) ? [{ system: String(system ?? ''), code }] : [],
  )
}
