/** The result of a search: a searchset as text, and the patients that it shows, for the audit trail. */
export interface SearchsetPage {
  readonly text: string
  /** Length of the text in bytes, if known. */
  readonly length?: number | undefined
  /** Each patient once. */
  patients(): readonly string[]
}
