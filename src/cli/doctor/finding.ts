/** What one look found: fine, worth a thought, or something that keeps the server from doing its work. */
export interface Finding {
  readonly verdict: 'ok' | 'hint' | 'wrong'
  /** What was looked at. */
  readonly about: string
  readonly said: string
  /** What to do; only where something is to be done. */
  readonly todo?: string
}

export function ok(about: string, said: string): Finding {
  return { verdict: 'ok', about, said }
}

export function hint(about: string, said: string, todo: string): Finding {
  return { verdict: 'hint', about, said, todo }
}

export function wrong(about: string, said: string, todo: string): Finding {
  return { verdict: 'wrong', about, said, todo }
}

/** One line for people; what to do stands behind an arrow. */
export function lineOf({ verdict, about, said, todo }: Finding): string {
  const words = { ok: 'ok   ', hint: 'hint ', wrong: 'WRONG' }[verdict]
  return `${words}  ${about}: ${said}${todo === undefined ? '' : ` → ${todo}`}`.replace(/\p{Cc}/gu, ' ')
}
