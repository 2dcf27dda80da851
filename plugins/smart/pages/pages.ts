/** The pages of the login as HTML. They have no scripts, so they work without. */

import { html } from '../../html/service.ts'
import { consentPage } from './consent-page.ts'
import { csp } from './csp.ts'
import { type Content, documentOf } from './document.ts'
import { encounterPage } from './encounter-page.ts'
import { loginPage } from './login-page.ts'
import type { ErrorPage, LoggedOutPage, LogoutPage, Pages } from './page.ts'
import { patientPage } from './patient-page.ts'
import { englishScopes, type ScopeTexts } from './scope-texts.ts'
import { english, type Texts } from './texts.ts'

export interface PagesOptions {
  readonly texts?: Texts
  readonly scopeTexts?: ScopeTexts
}

const errorPage = ({ status, reason, requestId, waitSeconds }: ErrorPage, texts: Texts): Content => {
  const [title, detail] = texts.errors[reason]
  return {
    title,
    body: html`
<h1>${title}</h1>
<p>${waitSeconds === undefined ? detail : `${detail} ${texts.wait(waitSeconds)}`}</p>
<div class="foot"><p>${texts.requestId} <code>${requestId}</code> · ${texts.status} ${status}</p></div>`,
  }
}

const logoutPage = ({ action, csrf, userName }: LogoutPage, { logout }: Texts): Content => ({
  title: logout.title,
  body: html`
<h1>${logout.title}</h1>
<p>${logout.lead} <strong><bdi>${userName}</bdi></strong>.</p>
<form method="post" action="${action}">
<input type="hidden" name="csrf" value="${csrf}">
<button class="full">${logout.button}</button>
</form>`,
})

const loggedOutPage = ({ wasLoggedIn }: LoggedOutPage, { loggedOut }: Texts): Content => ({
  title: loggedOut.title,
  body: html`
<h1>${loggedOut.title}</h1>
<p>${wasLoggedIn ? loggedOut.lead : loggedOut.notIn}</p>`,
})

export const createPages = ({ texts = english, scopeTexts = englishScopes }: PagesOptions = {}): Pages => ({
  login: (page) => documentOf({ title: texts.login.title, body: loginPage(page, texts) }, texts),
  patient: (page) => documentOf({ title: texts.patient.title, body: patientPage(page, texts), isWide: true }, texts),
  encounter: (page) =>
    documentOf({ title: texts.encounter.title, body: encounterPage(page, texts), isWide: true }, texts),
  consent: (page) =>
    documentOf(
      { title: `${page.clientName} ${texts.consent.title}`, body: consentPage(page, texts, scopeTexts) },
      texts,
    ),
  error: (page) => documentOf(errorPage(page, texts), texts),
  logout: (page) => documentOf(logoutPage(page, texts), texts),
  loggedOut: (page) => documentOf(loggedOutPage(page, texts), texts),
  csp,
})
