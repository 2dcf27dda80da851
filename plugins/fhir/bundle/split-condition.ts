/** Splits a conditional reference, such as `Patient?identifier=1`, into its type and its query. */

const CONDITION = /^([A-Z][A-Za-z]{0,63})\?(.+)$/s

export const splitConditionalReference = (
  value: string,
): { readonly type: string; readonly query: string } | undefined => {
  if (!value.includes('?')) return undefined
  const [, type, query] = CONDITION.exec(value) ?? []
  return type === undefined || query === undefined ? undefined : { type, query }
}
