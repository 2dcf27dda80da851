/** Decodes a name or value as a form or a query writes it: a plus sign is a space. RFC 6749, appendix B */

/** Undefined when the text is not percent-encoded UTF-8. */
export const decodeFormText = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}
