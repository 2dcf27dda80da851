/** Template-based extraction. https://hl7.org/fhir/uv/sdc/extraction.html#template-based-extraction */
import { type Evaluator, ExpressionFailed, type Variables } from '../expressions/evaluator.ts'
import type { IssueList } from '../expressions/issue-list.ts'
import { plainValue } from '../expressions/plain-value.ts'
import { extensionValue, readExpression, URLS } from '../questionnaire/extensions.ts'
import { isObject, type Json, objectsIn } from '../questionnaire/json.ts'

const TEMPLATE_URLS: ReadonlySet<unknown> = new Set([URLS.templateExtractContext, URLS.templateExtractValue])
const REFERENCE = /^(urn:|https?:|#|[A-Z][A-Za-z]+\/)/

export interface TemplateParts {
  readonly evaluator: Evaluator
  readonly issues: IssueList
}

/** Fills in a template, whose extensions say where its values come from; what gets no value is removed. */
export type FillTemplate = (template: Json, focus: unknown, variables: Variables) => readonly Json[]

export const createFillTemplate = ({ evaluator, issues }: TemplateParts): FillTemplate => {
  /** The nodes of an extension's expression; undefined where the element does not have it. */
  const nodesOf = (
    element: Json,
    url: string,
    focus: unknown,
    variables: Variables,
  ): readonly unknown[] | undefined => {
    const read = readExpression(extensionValue(element, url))
    if (read === undefined) return undefined
    try {
      return evaluator.evaluate(read.expression, focus, variables)
    } catch (error) {
      if (!(error instanceof ExpressionFailed)) throw error
      issues.add('warning', 'processing', error.message)
      return []
    }
  }
  const withoutTemplateExtensions = (element: Json): Json => {
    const { extension, ...others } = element
    const kept = objectsIn(extension).filter(({ url }) => !TEMPLATE_URLS.has(url))
    return kept.length === 0 ? others : { extension: kept, ...others }
  }

  const elements = (element: Json, focus: unknown, variables: Variables): readonly unknown[] => {
    const contexts = nodesOf(element, URLS.templateExtractContext, focus, variables) ?? [focus]
    return contexts.flatMap((context) => {
      const values = nodesOf(element, URLS.templateExtractValue, context, variables)
      const bare = withoutTemplateExtensions(element)
      if (values === undefined) return [members(bare, context, variables)]
      return values.flatMap((one) => {
        const value = plainValue(one)
        if (isObject(value)) return [{ ...members(bare, context, variables), ...value }]
        // Of the complex types only a Reference is given as a text.
        if (typeof value === 'string' && REFERENCE.test(value))
          return [{ ...members(bare, context, variables), reference: value }]
        issues.add('warning', 'value', 'A primitive value cannot fill an element that has a complex type.')
        return []
      })
    })
  }

  /** A primitive with its extensions, which stand beside it in `_name`. */
  const primitives = (value: unknown, beside: Json, focus: unknown, variables: Variables): readonly unknown[] => {
    const contexts = nodesOf(beside, URLS.templateExtractContext, focus, variables) ?? [focus]
    return contexts.flatMap((context) => {
      const values = nodesOf(beside, URLS.templateExtractValue, context, variables)
      return values === undefined ? [value] : values.map(plainValue).filter((one) => !isObject(one))
    })
  }

  const member = (key: string, element: Json, focus: unknown, variables: Variables): unknown => {
    const value = element[key]
    const beside = element[`_${key}`]
    if (Array.isArray(value) || Array.isArray(beside)) {
      const [list, others] = [Array.isArray(value) ? value : [], Array.isArray(beside) ? beside : []]
      return Array.from({ length: Math.max(list.length, others.length) }, (_, at) => at).flatMap((at) => {
        if (isObject(list[at])) return elements(list[at], focus, variables)
        return isObject(others[at]) ? primitives(list[at], others[at], focus, variables) : [list[at]]
      })
    }
    if (isObject(value)) return elements(value, focus, variables)[0]
    return isObject(beside) ? primitives(value, beside, focus, variables)[0] : value
  }

  const members = (element: Json, focus: unknown, variables: Variables): Json => {
    const made: Record<string, unknown> = {}
    for (const written of Object.keys(element)) {
      const key = written.startsWith('_') ? written.slice(1) : written
      if (key in made) continue
      made[key] = member(key, element, focus, variables)
      const beside = element[`_${key}`]
      if (isObject(beside)) made[`_${key}`] = withoutTemplateExtensions(beside)
    }
    return made
  }
  return (template, focus, variables) => elements(template, focus, variables).filter(isObject)
}
