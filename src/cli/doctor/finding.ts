/** The result of one check: fine, a recommendation, or a problem that prevents the server from working. */
export interface Finding {
  readonly verdict: 'ok' | 'hint' | 'wrong'
  /** The subject of the check. */
  readonly about: string
  readonly said: string
  /** Advice; missing if there is nothing to do. */
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

/** One line of text, with the advice after an arrow. */
export function lineOf({ verdict, about, said, todo }: Finding): string {
  const words = { ok: 'ok   ', hint: 'hint ', wrong: 'WRONG' }[verdict]
  return `${words}  ${about}: ${said}${todo === undefined ? '' : ` → ${todo}`}`.replace(/\p{Cc}/gu, ' ')
}
