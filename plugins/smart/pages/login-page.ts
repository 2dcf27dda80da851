/** The page on which a person chooses how to log in. */
import { type Html, html } from '../../html/service.ts'
import type { LoginPage } from './page.ts'
import type { Texts } from './texts.ts'

const demoForm = ({ action, csrf, provider, isNameMissing }: LoginPage, { login }: Texts): Html => html`
<form method="post" action="${action}">
<input type="hidden" name="csrf" value="${csrf}">
<div class="field">
<label for="username">${login.name}</label>
<input type="text" id="username" name="username" maxlength="200" autocomplete="username" autocapitalize="none" spellcheck="false" required aria-describedby="${isNameMissing ? 'username-mistake ' : ''}demo"${isNameMissing && html` aria-invalid="true"`}${(provider === undefined || isNameMissing) && html` autofocus`}>
${isNameMissing && html`<p class="mistake" id="username-mistake">${login.nameMissing}</p>`}
</div>
<div class="note" id="demo"><p>${login.demo}</p></div>
<button class="full${provider === undefined ? '' : ' second'}">${login.demoButton}</button>
</form>`

const providerForm = ({ action, csrf }: LoginPage, provider: string, texts: Texts): Html => html`
<form method="post" action="${action}">
<input type="hidden" name="csrf" value="${csrf}">
<input type="hidden" name="provider" value="1">
<button class="full">${texts.loginAt(provider)}</button>
</form>`

export const loginPage = (page: LoginPage, texts: Texts): Html => {
  const { clientName, provider, demo } = page
  return html`
<h1>${texts.login.title}</h1>
<p><strong><bdi>${clientName}</bdi></strong> ${texts.login.lead}</p>
${provider !== undefined && providerForm(page, provider, texts)}
${provider !== undefined && demo && html`<p class="or">${texts.login.or}</p>`}
${demo && demoForm(page, texts)}
${provider === undefined && !demo && html`<div class="note bad" role="alert"><p>${texts.login.none}</p></div>`}`
}
