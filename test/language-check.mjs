// Counts habits that make English hard to read, in comments, texts and Markdown, as findings per 1 000 words of a folder.
// `npm run check` runs it; CONTRIBUTING.md has the words to use instead. Exit code 1 above the limit.
//   node test/language-check.mjs [--list] [PATH...]
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const findingsPer1000Max = 1
const folders = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'docs',
  'ops',
  'examples',
  'src',
  'actors',
  'bench',
  'test',
]

const habits = [
  ['a pronoun for a user', /\b(he|his|him|himself)\b/gi],
  [
    'who without a noun',
    /(^|[.,;:(]\s*|\b(of|to|for|by|with|from|that|and|or|is|are|as|only|whether|than|like)\s+)who\b/gim,
  ],
  ['an indefinite pronoun', /\b(whoever|whatever|nobody|somebody|everybody)\b/gi],
  ['tell, hear, say for software', /\b(told|tells?|heard|hears?|hearers?|hearing|said|says)\b/gi],
  [
    'what as a subject',
    /(^|[.;:]\s+|,\s+)what\s+(is|was|are|were|has|had|it|a|an|the|one|they|may|can|must|to|every|no|does|do)\b/gim,
  ],
  [
    'a private idiom',
    /\b(looked at|held against|at hand|stands for|lies in|lies there|so many|so long|beside|anew|seldom|taken away)\b/gi,
  ],
  ['else in prose', /\belse\b(?!\s*(if\b|\{|\())/gi],
]

const args = process.argv.slice(2)
const isListing = args.includes('--list')
const paths = args.filter((arg) => arg !== '--list')

/** Lines of prose with their numbers. */
function proseOf(file, text) {
  const blank = (match) => match.replace(/[^\n]/g, ' ')
  if (file.endsWith('.md')) {
    const prose = text.replace(/```[\s\S]*?```|<!--[\s\S]*?-->|`[^`\n]*`/g, blank)
    return prose.split('\n').map((line, index) => [index + 1, line])
  }
  const lines = []
  const token =
    /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|(?<=>)[^<>{}\n]*[a-z]{2} [a-z][^<>{}\n]*(?=<|\{)/gm
  for (const match of text.matchAll(token)) {
    const isComment = /^\/[*/]/.test(match[0])
    const prose = match[0].replace(/\$\{[^}]*\}/g, ' ').replace(/`[^`\n]*`/g, isComment ? ' ' : '$&')
    if (!isComment && !/[A-Za-z]+ [A-Za-z]+ [A-Za-z]+/.test(prose)) continue
    const first = text.slice(0, match.index).split('\n').length
    for (const [index, line] of prose.split('\n').entries()) lines.push([first + index, line.replace(/^[\s/*]+/, '')])
  }
  return lines
}

function filesOf(path) {
  const tracked = execFileSync('git', ['ls-files', '--', path], { encoding: 'utf8' }).split('\n')
  return tracked.filter((file) => /\.(ts|tsx|js|mjs|cjs|md)$/.test(file) && !/\/results\/|language-check/.test(file))
}

for (const path of paths.length > 0 ? paths : folders) {
  let words = 0
  const findings = []
  for (const file of filesOf(path)) {
    for (const [number, line] of proseOf(file, readFileSync(file, 'utf8'))) {
      words += line.match(/[A-Za-z']+/g)?.length ?? 0
      for (const [name, pattern] of habits) {
        for (const [word] of line.matchAll(pattern))
          findings.push(`${file}:${number}: ${name} (${word.trim()}): ${line.trim().slice(0, 120)}`)
      }
    }
  }
  const share = (findings.length / Math.max(words, 1)) * 1_000
  const isAbove = share > findingsPer1000Max
  if (isListing || isAbove) for (const finding of findings) console.log(finding)
  if (isAbove) process.exitCode = 1
  if (isListing || isAbove)
    console.log(`${path}: ${share.toFixed(2)} findings per 1 000 words, ${findingsPer1000Max} at most`)
}
