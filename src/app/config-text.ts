import { type Setting, settings } from '#app/config-settings'

const widthMax = 100
const nameWidth = 26

const allSettings: readonly Setting[] = Object.values(settings)

/** The output of `--help`: every setting, at most 100 columns wide. */
export function helpText(): string {
  const indent = ' '.repeat(nameWidth)
  const blocks = allSettings.map((setting) => {
    const fallback = setting.fallback ? ` [${setting.fallback}]` : ''
    const lines = [...wrap(setting.kind.takes + fallback), ...wrap(setting.about)]
    return lines.map((line, index) => (index === 0 ? setting.name.padEnd(nameWidth) : indent) + line).join('\n')
  })
  return [
    'Device Data Backend: device fleets stream property changes in, applications read and watch them.',
    '',
    '  npm start                serve',
    '  npm start -- --help      print this',
    '',
    'Settings come from the environment and from .env in the working directory; the environment wins.',
    'After each name: its values [its default].',
    '',
    ...blocks,
    '',
  ].join('\n')
}

/** The settings as a table for the operator's guide. */
export function markdownTable(): string {
  const rows = allSettings.map((setting) => {
    const fallback = setting.fallback ? `\`${setting.fallback}\`` : ''
    return [`\`${setting.name}\``, fallback, setting.kind.takes, setting.about].map(cell)
  })
  const lines = [['Name', 'Default', 'Takes', 'What it is for'], ['---', '---', '---', '---'], ...rows]
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n')
}

const start = '<!-- configuration:start -->'
const end = '<!-- configuration:end -->'

/** Replaces the table between its two markers in a text. */
export function placeTable(text: string): string {
  const from = text.indexOf(start)
  const to = text.indexOf(end)
  if (from < 0 || to < from) throw new Error(`no ${start} … ${end}`)
  return `${text.slice(0, from + start.length)}\n${markdownTable()}\n${text.slice(to)}`
}

function cell(text: string): string {
  return text.replace(/[|*<]/g, '\\$&')
}

function wrap(text: string): string[] {
  const lines: string[] = ['']
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? ''
    const longer = last ? `${last} ${word}` : word
    if (nameWidth + longer.length <= widthMax) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}
