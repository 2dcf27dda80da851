/** What terminology offers to other plugins: which codes a ValueSet holds, which codes lie above or below another. */
import { defineService } from '../../kernel/index.ts'

/** A code with its system; the system is empty where a value has none. */
export interface Code {
  readonly system: string
  readonly code: string
}

export interface Terminology {
  /**
   * The codes of a ValueSet, by canonical URL (with or without `|version`). Undefined when it is not known; rejects
   * when it holds more than `most`.
   */
  expand(valueSet: string, most: number): Promise<readonly Code[] | undefined>
  /** The code and all that it subsumes (`below`), or all that subsume it (`above`). Undefined when the system is not known. */
  related(code: Code, direction: 'above' | 'below', most: number): Promise<readonly Code[] | undefined>
}

export const Terminology = defineService<Terminology>('terminology')
