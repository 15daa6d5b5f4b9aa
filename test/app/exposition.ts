/** A line that has a value. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** A parsed text in the Prometheus format. Throws for a bad line. */
export class Exposition {
  readonly samples: readonly Sample[]
  /** The types of the families, by name. */
  readonly types: ReadonlyMap<string, string>
  readonly helps: ReadonlyMap<string, string>

  constructor(text: string) {
    const lines = text.split('\n').filter((line) => line !== '' && line !== '# EOF')
    const comments = (word: string) =>
      new Map(
        lines
          .filter((line) => line.startsWith(`# ${word} `))
          .map((line) => [line.split(' ')[2] ?? '', line.split(' ').slice(3).join(' ')]),
      )
    this.types = comments('TYPE')
    this.helps = comments('HELP')
    this.samples = lines.filter((line) => !line.startsWith('#')).map(sampleOf)
  }

  /** The value of the series with these labels; undefined if there is no such series. */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    const wanted = Object.entries(labels)
    const found = this.samples.filter(
      (sample) => sample.name === name && wanted.every(([label, value]) => sample.labels[label] === value),
    )
    if (found.length > 1) throw new Error(`${name} ${JSON.stringify(labels)} occurs ${found.length} times`)
    return found[0]?.value
  }

  /** Each series as name and labels, without the value. */
  get series(): readonly string[] {
    return this.samples.map(({ name, labels }) => `${name}${JSON.stringify(labels)}`)
  }
}

const linePattern = /^([a-z_]+)(?:\{(.*)\})? (-?[\d.e+-]+|\+Inf)$/
const labelPattern = /([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)/g

function sampleOf(line: string): Sample {
  const [, name, labels = '', value = ''] = linePattern.exec(line) ?? []
  if (name === undefined) throw new Error(`the line is not a sample: ${line}`)
  const pairs = [...labels.matchAll(labelPattern)].map(([, label = '', text = '']) => [label, text] as const)
  return { name, labels: Object.fromEntries(pairs), value: value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value) }
}
