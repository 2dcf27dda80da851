/** What searches need of a terminology: which codes a ValueSet holds, which codes lie above or below another. */
import { defineService } from '../../../kernel/index.ts'

/** A code with its system; the system is empty where a value has none. */
export interface Code {
  readonly system: string
  readonly code: string
}

export interface CodeExpander {
  /**
   * Returns the codes of a ValueSet, given by canonical URL (with or without `|version`) or as `ValueSet/id`.
   * Undefined when it is unknown. Throws 400 when this server cannot expand it, or when it has more than `most`
   * codes.
   */
  expand(valueSet: string, most: number): Promise<readonly Code[] | undefined>
  /**
   * Returns the code and all codes that it subsumes (`below`), or that subsume it (`above`). Undefined when the
   * system is unknown. Throws 400 when the code is not in the system, or when this server lacks a part of its
   * hierarchy.
   */
  related(code: Code, direction: 'above' | 'below', most: number): Promise<readonly Code[] | undefined>
  /**
   * A number that increases whenever this server has written a ValueSet or CodeSystem. Codes that were expanded at a
   * lower number may be outdated.
   */
  edition(): number
}

/** A plugin with a terminology provides this service. The service name is older than the name of the interface. */
export const CodeExpander = defineService<CodeExpander>('terminology')
