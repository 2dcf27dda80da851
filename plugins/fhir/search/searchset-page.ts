/** What a search found: a searchset as text, and whose data it is, for the trail. */
export interface SearchsetPage {
  readonly text: string
  /** Bytes of the text, where they are known. */
  readonly length?: number | undefined
  /** Each once. */
  patients(): readonly string[]
}
