/** Everything that the pages say, in one object: a translation is another object of this type. */
import { counted } from '../../../kernel/index.ts'
import type { ErrorReason } from './page.ts'

/** `of` is a name to insert, `record` a phrase such as “of Anna Example”. */
export interface Texts {
  /** BCP 47 tag for the attribute `lang`. */
  readonly language: string
  readonly place: string
  readonly date: (written: string) => string
  readonly login: Readonly<
    Record<'title' | 'lead' | 'or' | 'name' | 'nameMissing' | 'demo' | 'demoButton' | 'none', string>
  >
  readonly loginAt: (provider: string) => string
  readonly patient: Readonly<
    Record<
      | 'title'
      | 'lead'
      | 'search'
      | 'searchHint'
      | 'searchButton'
      | 'caption'
      | 'name'
      | 'birthDate'
      | 'gender'
      | 'identifier'
      | 'choose'
      | 'noName'
      | 'action',
      string
    >
  >
  readonly nobodyFound: (query: string) => string
  readonly genders: Readonly<Record<string, string>>
  readonly encounter: Readonly<
    Record<'title' | 'lead' | 'caption' | 'name' | 'start' | 'end' | 'status' | 'choose' | 'none' | 'action', string>
  >
  readonly statuses: Readonly<Record<string, string>>
  readonly pages: Readonly<Record<'label' | 'previous' | 'next', string>>
  readonly consent: Readonly<
    Record<
      | 'title'
      | 'you'
      | 'patient'
      | 'encounter'
      | 'app'
      | 'choicesHint'
      | 'basics'
      | 'allow'
      | 'deny'
      | 'returns'
      | 'clientId'
      | 'clientUri',
      string
    >
  >
  readonly logout: Readonly<Record<'title' | 'lead' | 'button', string>>
  readonly loggedOut: Readonly<Record<'title' | 'lead' | 'notIn', string>>
  readonly errors: Readonly<Record<ErrorReason, readonly [title: string, detail: string]>>
  /** How long to wait, as a sentence behind that of the error. */
  readonly wait: (seconds: number) => string
  readonly requestId: string
  readonly status: string
}

const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
) as readonly string[]

/** A date, or the date and the time of a dateTime as they are written, without conversion to another time zone. */
const date = (written: string): string => {
  const [, year, month, day, time] = /^(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d:\d\d).*)?)?)?$/.exec(written) ?? []
  if (year === undefined) return written
  const name = month === undefined ? undefined : MONTHS[Number(month) - 1]
  const parts = [day && String(Number(day)), name, year].filter((part) => part !== undefined)
  return `${parts.join(' ')}${time === undefined ? '' : `, ${time}`}`
}

export const english: Texts = {
  language: 'en',
  place: 'Health record server',
  date,
  login: {
    title: 'Sign in',
    lead: 'wants to open health records. Sign in to go on.',
    or: 'or',
    name: 'User name',
    nameMissing: 'Enter a user name.',
    demo: 'Demo sign-in: every user name is accepted and no password is checked. This server must not hold real patients’ data.',
    demoButton: 'Sign in with this name',
    none: 'No way to sign in is set up on this server. Ask whoever runs it.',
  },
  loginAt: (provider) => `Sign in at ${provider}`,
  patient: {
    title: 'Choose a patient',
    lead: 'will work with the patient whom you choose.',
    search: 'Search patients',
    searchHint: 'By name, birth date (1970-12-31) or record number',
    searchButton: 'Search',
    caption: 'Patients',
    name: 'Name',
    birthDate: 'Birth date',
    gender: 'Gender',
    identifier: 'Record number',
    choose: 'Choose',
    noName: 'Without a name',
    action: 'Choice',
  },
  nobodyFound: (query) =>
    query === '' ? 'There is no patient whom you may open.' : 'No patient whom you may open matches the search.',
  genders: { male: 'Male', female: 'Female', other: 'Other', unknown: 'Unknown' },
  encounter: {
    title: 'Choose a visit',
    lead: 'will work with the visit that you choose, of',
    caption: 'Visits, newest first',
    name: 'Visit',
    start: 'Begin',
    end: 'End',
    status: 'Status',
    choose: 'Choose',
    none: 'There is no visit that you may open.',
    action: 'Choice',
  },
  statuses: {
    planned: 'Planned',
    arrived: 'Arrived',
    triaged: 'Triaged',
    'in-progress': 'In progress',
    onleave: 'On leave',
    finished: 'Finished',
    cancelled: 'Cancelled',
    'entered-in-error': 'Entered in error',
    unknown: 'Unknown',
  },
  pages: { label: 'Pages of the list', previous: 'Previous', next: 'Next' },
  consent: {
    title: 'asks for access',
    you: 'Signed in as',
    patient: 'Patient',
    encounter: 'Visit',
    app: 'App',
    choicesHint: 'Uncheck what you do not want to allow.',
    basics: 'The app also learns',
    allow: 'Allow',
    deny: 'Do not allow',
    returns: 'Either way you go back to the app, at',
    clientId: 'Identifier of the app:',
    clientUri: 'Its own page:',
  },
  logout: {
    title: 'Sign out?',
    lead: 'You are signed in here as',
    button: 'Sign out',
  },
  loggedOut: {
    title: 'You are signed out',
    lead: 'Apps that may work only while you are signed in have lost their access. Close this window on a shared computer.',
    notIn: 'You were not signed in here. You can close this window.',
  },
  errors: {
    'unknown-app': [
      'This app is not known here',
      'The app that sent you is not registered on this server, or was switched off. Nothing was shared with it. Tell whoever offers the app.',
    ],
    'wrong-return-address': [
      'The app gave an address that is not its own',
      'The address to go back to is not registered for this app, so you are not sent there. Nothing was shared. Tell whoever offers the app.',
    ],
    malformed: [
      'The request is not well-formed',
      'The app sent a request that this server cannot read. Start again from the app; if that does not help, tell whoever offers it.',
    ],
    expired: [
      'This sign-in is over',
      'It took too long, or was finished already. Nothing more was shared. Start again from the app.',
    ],
    'other-browser': [
      'This sign-in began elsewhere',
      'It can only be finished in the browser in which it began, with cookies allowed. Start again from the app.',
    ],
    'stale-form': [
      'This page is out of date',
      'It was sent a second time, or from an older window. Nothing was changed by it. Start again from the app.',
    ],
    'login-refused': [
      'You could not be signed in',
      'The sign-in service did not confirm you, or you are not among those who may use this server. Ask whoever runs it.',
    ],
    'provider-unavailable': [
      'The sign-in service does not answer',
      'Your data is not affected. Wait a few minutes, then start again from the app.',
    ],
    'not-yours': [
      'You may not open this record',
      'The patient or visit does not exist, or is not open to you. Start again from the app and choose another one.',
    ],
    'too-many-attempts': [
      'Too many failed attempts',
      'This server has had too many failed attempts from your address. Wait, then start again from the app.',
    ],
    'too-many-requests': [
      'Too many requests',
      'More requests come from your address at the moment than this server takes. Nothing went wrong with your sign-in. Wait, then load this page again.',
    ],
    internal: [
      'Something went wrong here',
      'The server could not go on. Nothing was shared. Start again from the app; if it happens again, tell whoever runs the server.',
    ],
  },
  wait: (seconds) =>
    `Try again in ${seconds < 120 ? counted(seconds, 'second') : counted(Math.ceil(seconds / 60), 'minute')}.`,
  requestId: 'Request',
  status: 'Status',
}
