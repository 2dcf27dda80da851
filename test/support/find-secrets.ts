/** Looks for many secrets at once in what a server has stored and logged, as text, as bytes, and in hexadecimal. */

const START = 6 // characters by which a place is compared with the secrets that begin so
const LEAST = 12 // characters of a form that is searched; shorter ones would be found by chance

/** How a secret could be written: as it is, decoded from base64url, and both in hexadecimal. */
const formsOf = (secret: string): readonly string[] => {
  const forms = [secret, Buffer.from(secret, 'utf8').toString('latin1'), Buffer.from(secret, 'utf8').toString('hex')]
  if (/^[A-Za-z0-9_-]+$/.test(secret)) {
    const bytes = Buffer.from(secret, 'base64url')
    forms.push(bytes.toString('latin1'), bytes.toString('hex'), bytes.toString('base64'))
  }
  return forms.filter(({ length }) => length >= LEAST)
}

/** Those of the secrets that are in the text, which has a character for each byte. */
export const findSecrets = (text: string, secrets: Iterable<string>): readonly string[] => {
  const byStart = new Map<string, (readonly [form: string, secret: string])[]>()
  for (const secret of new Set(secrets))
    for (const form of new Set(formsOf(secret))) {
      const start = form.slice(0, START)
      byStart.set(start, [...(byStart.get(start) ?? []), [form, secret]])
    }
  const found = new Set<string>()
  for (let at = 0; at + START <= text.length; at += 1)
    for (const [form, secret] of byStart.get(text.slice(at, at + START)) ?? [])
      if (text.startsWith(form, at)) found.add(secret)
  return [...found]
}
