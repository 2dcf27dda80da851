/** `_pretty` of Bundles: the Bundle is indented as a whole, so its entries are made without it. */
import { indentJsonInTurns } from '../../../kernel/index.ts'
import type { Presentation } from './presentation-parameters.ts'

/** The form in which the entries are made. */
export const entryPresentation = (presentation: Presentation): Presentation =>
  presentation.pretty ? { ...presentation, pretty: false } : presentation

/** The Bundle to send. */
export const indentedBundle = ({ pretty }: Presentation, text: string): Promise<string> | string =>
  pretty ? indentJsonInTurns(text) : text
