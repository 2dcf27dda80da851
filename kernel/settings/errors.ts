/** What can be wrong with settings: what plugins declare, and what an operator writes. */
import { defineError } from '../define-error.ts'
import { ServerError } from '../server-error.ts'

export const SettingTwice = defineError(
  'kernel/setting-twice',
  500,
  'exception',
  'The plugins "%s" and "%s" both declare the setting %s; a setting has one owner.',
)
export const FlagTwice = defineError(
  'kernel/flag-twice',
  500,
  'exception',
  'The plugins "%s" and "%s" both declare the flag --%s (for %s and %s).',
)
export const NoSuchSection = defineError(
  'kernel/no-such-section',
  500,
  'exception',
  'No plugin declares the section [%s].',
)

/** Refused settings, all of them at once. The CLI prints the complaints and exits 2. */
export class SettingsInvalid extends ServerError {
  /** One line each: where, which setting, what it is, what is allowed. Never holds a secret. */
  readonly complaints: readonly string[]

  constructor(complaints: readonly string[]) {
    super('kernel/settings-invalid', 500, 'exception', complaints.join('\n'))
    this.name = 'SettingsInvalid'
    this.complaints = complaints
  }
}
