/** Checks an answer against the limits of its item: lengths, smallest and greatest values, attachments. */
import { extensionsOf, extensionValue, URLS, valueIn, valueKeyOf } from '../questionnaire/extensions.ts'
import type { Item } from '../questionnaire/items.ts'
import { isObject } from '../questionnaire/json.ts'
import type { Report } from './check-contract.ts'
import { compareValues } from './same-value.ts'

const REGEX = 'http://hl7.org/fhir/StructureDefinition/regex'
const BYTES_PER_MEGABYTE = 1_000_000

const numberIn = (item: Item, url: string): number | undefined => {
  const value = extensionValue(item, url)
  return typeof value === 'number' ? value : undefined
}

const show = (value: unknown): string =>
  isObject(value) ? `${value.value} ${value.unit ?? value.code ?? ''}`.trim() : String(value)

const checkText = (item: Item, text: string, path: string, report: Report, mayMatch: boolean): void => {
  const { maxLength } = item
  const length = [...text].length
  if (typeof maxLength === 'number' && length > maxLength)
    report('error', 'too-long', path, `The answer has ${length} characters; at most ${maxLength} are allowed.`)
  const least = numberIn(item, URLS.minLength)
  if (least !== undefined && length < least)
    report('error', 'value', path, `The answer has ${length} characters; at least ${least} are needed.`)
  const pattern = extensionValue(item, REGEX)
  if (typeof pattern !== 'string' || !mayMatch) return
  try {
    if (!new RegExp(`^(?:${pattern})$`, 'u').test(text))
      report('error', 'value', path, `The answer does not match ${pattern.slice(0, 200)}.`)
  } catch {
    report(
      'information',
      'informational',
      path,
      `The expression ${pattern.slice(0, 200)} cannot be read, so the answer was not matched with it.`,
    )
  }
}

const checkRange = (item: Item, value: unknown, path: string, report: Report): void => {
  const bounds = [
    [URLS.minValue, 'at least', (difference: number) => difference < 0],
    [URLS.minQuantity, 'at least', (difference: number) => difference < 0],
    [URLS.maxValue, 'at most', (difference: number) => difference > 0],
    [URLS.maxQuantity, 'at most', (difference: number) => difference > 0],
  ] as const
  for (const [url, name, isOutside] of bounds) {
    const bound = extensionValue(item, url)
    if (bound === undefined) continue
    const difference = compareValues(value, bound, valueKeyOf(extensionsOf(item, url)[0] ?? {}))
    if (difference === undefined)
      report('information', 'informational', path, `The answer cannot be compared with ${show(bound)}.`)
    else if (isOutside(difference))
      report('error', 'value', path, `The answer is ${show(value)}; ${name} ${show(bound)} is allowed.`)
  }
}

/** `mayMatch`: regular expressions are tried, as nothing bounds their time only in a thread that can be ended. */
export const checkLimits = (item: Item, value: unknown, path: string, report: Report, mayMatch: boolean): void => {
  if (typeof value === 'string') checkText(item, value, path, report, mayMatch)
  checkRange(item, value, path, report)
  const places = numberIn(item, URLS.maxDecimalPlaces)
  if (places !== undefined && typeof value === 'number' && (String(value).split('.')[1]?.length ?? 0) > places)
    report('error', 'value', path, `The answer has more than ${places} decimal places.`)
  if (!isObject(value)) return
  const size = numberIn(item, URLS.maxSize)
  if (size !== undefined && typeof value.size === 'number' && value.size > size * BYTES_PER_MEGABYTE)
    report('error', 'too-long', path, `The attachment has more than ${size} MB.`)
  const types = extensionsOf(item, URLS.mimeType).map(valueIn)
  if (item.type === 'attachment' && types.length > 0 && !types.includes(value.contentType))
    report('error', 'value', path, `The attachment is none of ${types.join(', ').slice(0, 200)}.`)
  const targets = extensionsOf(item, URLS.referenceResource).map(valueIn)
  const target = /(?:^|\/)([A-Z][A-Za-z]+)\/[^/]+$/.exec(String(value.reference ?? ''))?.[1] ?? value.type
  if (item.type === 'reference' && targets.length > 0 && target !== undefined && !targets.includes(target))
    report(
      'error',
      'value',
      path,
      `The reference leads to ${String(target).slice(0, 64)}; ${targets.join(', ').slice(0, 200)} is allowed.`,
    )
}
