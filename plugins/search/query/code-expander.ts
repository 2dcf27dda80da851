/** What searches need of a terminology: which codes a ValueSet holds, which codes lie above or below another. */
import { defineService } from '../../../kernel/index.ts'

/** A code with its system; the system is empty where a value has none. */
export interface Code {
  readonly system: string
  readonly code: string
}

export interface CodeExpander {
  /**
   * The codes of a ValueSet, by canonical URL (with or without `|version`) or as `ValueSet/id`. Undefined when it is not
   * known; throws 400 when it cannot be expanded from what is here, or holds more than `most`.
   */
  expand(valueSet: string, most: number): Promise<readonly Code[] | undefined>
  /**
   * The code and all that it subsumes (`below`), or all that subsume it (`above`). Undefined when the system is not known;
   * throws 400 when the code is not in it, or its hierarchy is not all here.
   */
  related(code: Code, direction: 'above' | 'below', most: number): Promise<readonly Code[] | undefined>
  /** A number that grows whenever this server has written a value set or code system: what was expanded before may differ. */
  edition(): number
}

/** Provided by whoever has a terminology. Its name is older than that of the interface. */
export const CodeExpander = defineService<CodeExpander>('terminology')
