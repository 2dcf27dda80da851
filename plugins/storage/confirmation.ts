/** Runs the checks of other plugins: inside the transaction, with all of its changes, and after COMMIT. */
import type { ErrorExtras, RequestContext } from '../../kernel/index.ts'
import type { MaybePromise, Transaction } from '../database/service.ts'
import type { Changed, CurrentChange } from './change.ts'
import type { ChangeObserver } from './change-observer.ts'
import { type IssuesOf, throwFirst } from './throw-first.ts'
import type { RejectedChange, WriteCheck } from './write-check.ts'

const runAfter = (before: Promise<void> | undefined, next: () => MaybePromise<void>): Promise<void> | undefined => {
  if (before !== undefined) return before.then(next)
  const made = next()
  return made instanceof Promise ? made : undefined
}

/** Whether a change has the type that the check is for. */
const concerns = ({ type }: WriteCheck, changes: readonly Changed[]): boolean =>
  type === undefined || changes.some(({ version }) => version.type === type)

export interface Confirmation {
  /** Runs the checks with all changes: one may create the resource that another one refers to. Throws 4xx. */
  confirm(
    request: RequestContext,
    transaction: Transaction,
    changes: readonly Changed[],
    issuesOf: IssuesOf,
    progress?: CurrentChange,
  ): MaybePromise<void>
  /** Calls the checks that follow a COMMIT, one after the other. Returns a promise if one of them does. */
  afterCommit(written: readonly Changed[]): Promise<void> | undefined
}

export const createConfirmation = (
  checks: readonly WriteCheck[],
  observer: Pick<ChangeObserver, 'patients'>,
): Confirmation => {
  const followers = checks.filter((check) => check.afterCommit !== undefined)

  /** The patients of all rejected changes: the error has the issues of each. */
  const patientsOf =
    (changes: readonly Changed[], rejected: readonly RejectedChange[]): NonNullable<ErrorExtras['patients']> =>
    (ownUrl) => {
      const interactions = new Set(rejected.map(({ interaction }) => interaction))
      const concerned = changes.filter(({ interaction }) => interactions.has(interaction))
      return [...new Set(concerned.flatMap((changed) => observer.patients(changed, ownUrl)))]
    }

  /** `from`: index of the first check. */
  const confirm = (
    request: RequestContext,
    transaction: Transaction,
    changes: readonly Changed[],
    issuesOf: IssuesOf,
    progress?: CurrentChange,
    from = 0,
  ): MaybePromise<void> => {
    for (let at = from; at < checks.length; at += 1) {
      const check = checks[at] as WriteCheck
      if (!concerns(check, changes)) continue
      const asked = check.checkInTransaction?.(request, transaction, changes)
      if (asked instanceof Promise)
        return asked.then((refusals) => {
          throwFirst(refusals, issuesOf, progress, patientsOf(changes, refusals))
          return confirm(request, transaction, changes, issuesOf, progress, at + 1)
        })
      if (asked !== undefined) throwFirst(asked, issuesOf, progress, patientsOf(changes, asked))
    }
  }

  return {
    confirm,
    afterCommit(written) {
      let later: Promise<void> | undefined
      for (const check of followers)
        if (concerns(check, written)) later = runAfter(later, () => check.afterCommit?.(written))
      return later
    },
  }
}
