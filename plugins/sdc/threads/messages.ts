/** Messages between the main thread and a thread that evaluates expressions. */
import type { NextQuestionInput } from '../adaptive/next-question-contract.ts'
import type { AssembleInput } from '../assemble/assemble-contract.ts'
import type { CheckInput } from '../check/check-contract.ts'
import type { ExtractInput } from '../extract/extract-contract.ts'
import type { PopulateInput } from '../populate/populate-contract.ts'
import type { Json } from '../questionnaire/json.ts'
import type { Question } from './ask.ts'

/** Work for a thread. */
export type Job =
  | { readonly kind: 'populate'; readonly input: PopulateInput }
  | { readonly kind: 'extract'; readonly input: ExtractInput }
  | { readonly kind: 'check'; readonly input: CheckInput }
  | { readonly kind: 'assemble'; readonly input: AssembleInput }
  | { readonly kind: 'next-question'; readonly input: NextQuestionInput }

export type ToThread =
  | { readonly kind: 'job'; readonly job: Job }
  | { readonly kind: 'answer'; readonly number: number; readonly answer: unknown }

export type FromThread =
  /** fhirpath.js is loaded, and the work begins. */
  | { readonly kind: 'begun' }
  | { readonly kind: 'ask'; readonly number: number; readonly question: Question }
  | { readonly kind: 'done'; readonly result: Json }
  | { readonly kind: 'refused'; readonly refusal: string; readonly words: readonly string[] }
  | { readonly kind: 'failed'; readonly message: string }
