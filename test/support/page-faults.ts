/** What makes a page hard to read or to use, found inside the browser. */
import type { Page } from 'puppeteer-core'

// Runs in the page: the types of the DOM are not those of the tests. WCAG 2.1: 1.4.3, 1.4.10, 1.3.1, 4.1.2.
const SCRIPT = `(() => {
  const faults = []
  const channels = (color) => {
    const [r, g, b, a = 1] = color.match(/[\\d.]+/g).map(Number)
    return { rgb: [r, g, b], a }
  }
  const luminance = ({ rgb }) => {
    const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const contrast = (one, other) => {
    const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a)
    return (light + 0.05) / (dark + 0.05)
  }
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = channels(getComputedStyle(at).backgroundColor)
      if (color.a === 1) return color
    }
    return { rgb: [255, 255, 255], a: 1 }
  }
  const isShown = (element) => element.getClientRects().length > 0 && !element.closest('.hidden, thead')
  for (const element of document.body.querySelectorAll('*')) {
    const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join('')
    if (text === '' || !isShown(element)) continue
    const ratio = contrast(channels(getComputedStyle(element).color), behind(element))
    if (ratio < 4.5) faults.push('contrast ' + ratio.toFixed(2) + ': ' + text.slice(0, 40))
  }
  for (const field of document.querySelectorAll('input:not([type=hidden])')) {
    if (field.labels.length === 0) faults.push('no label: ' + field.name)
    if (field.type !== 'checkbox') {
      const ratio = contrast(channels(getComputedStyle(field).borderTopColor), behind(field.parentElement))
      if (ratio < 3) faults.push('border ' + ratio.toFixed(2) + ': ' + field.name)
    }
  }
  for (const control of document.querySelectorAll('a, button'))
    if (control.textContent.trim() === '') faults.push('no name: ' + control.outerHTML.slice(0, 60))
  for (const control of document.querySelectorAll('.button, button')) {
    const { height, width } = control.getBoundingClientRect()
    if (height < 40 || width < 40) faults.push('small: ' + control.textContent.trim())
    if (height > 56 && control.closest('td')) faults.push('broken into lines: ' + control.textContent.trim())
  }
  for (const element of document.querySelectorAll('[aria-describedby]'))
    for (const id of element.getAttribute('aria-describedby').split(' '))
      if (!document.getElementById(id)) faults.push('nothing is called ' + id)
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id)
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) faults.push('twice: ' + id)
  if (document.documentElement.scrollWidth > innerWidth) faults.push('scrolls sideways')
  if (document.title === '') faults.push('no title')
  return faults
})()`

export const pageFaults = async (page: Page): Promise<readonly string[]> => (await page.evaluate(SCRIPT)) as string[]
