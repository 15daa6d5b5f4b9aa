import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

export interface Called<Value> {
  /** The latest answer; it stays while the same is asked again. */
  readonly value: Value | undefined
  /** What the latest call failed with. */
  readonly problem: unknown
  readonly isLoading: boolean
  /** Asks once more. */
  readonly again: () => void
}

interface Round<Value> {
  readonly value?: Value | undefined
  readonly problem?: unknown
  readonly isLoading: boolean
}

/**
 * Asks when the component appears and whenever one of `deps` changes. Of answers that overtake each other the one asked
 * for last stands. With other `deps` the value of before is dropped; with `again` it stays shown.
 */
export function useCall<Value>(call: () => Promise<Value>, deps: readonly unknown[]): Called<Value> {
  const [round, setRound] = useState<Round<Value>>({ isLoading: true })
  const turn = useRef(0)
  const ask = useCallback((isAgain: boolean) => {
    turn.current += 1
    const mine = turn.current
    setRound((before) => (isAgain ? { ...before, isLoading: true } : { isLoading: true }))
    call().then(
      (value) => mine === turn.current && setRound({ value, isLoading: false }),
      (problem) => mine === turn.current && setRound((before) => ({ value: before.value, problem, isLoading: false })),
    )
  }, deps)
  useEffect(() => {
    ask(false)
    return () => {
      turn.current += 1
    }
  }, [ask])
  const again = useCallback(() => ask(true), [ask])
  return { value: round.value, problem: round.problem, isLoading: round.isLoading, again }
}
