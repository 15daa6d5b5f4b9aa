import { useState } from 'preact/hooks'
import { refusedFor } from '#dashboard/parts/problem-text'

export interface DraftFormOptions {
  /** Whether it differs from what is saved; something new always does. */
  readonly isDirty?: boolean | undefined
  readonly onDirty?: (() => void) | undefined
}

/**
 * What forms share that fill in a thing with a page of its own: fields that are refused are told at their place, and leaving
 * asks once something was touched.
 */
export function useDraftForm({ isDirty = true, onDirty }: DraftFormOptions) {
  const [problem, setProblem] = useState<unknown>(undefined)
  const [isTouched, setTouched] = useState(false)
  const touch = () => {
    setTouched(true)
    onDirty?.()
  }
  /** `unreachable`: what it means that something was not found. */
  const send = async (submit: () => Promise<void>, unreachable: string) => {
    setProblem(undefined)
    try {
      await submit()
    } catch (thrown) {
      setProblem(thrown)
      throw refusedFor(thrown, 404, unreachable)
    }
  }
  return { problem, touch, send, form: { isDisabled: !isDirty, isUnsaved: isTouched && isDirty } }
}
