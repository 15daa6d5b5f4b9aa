import { useMemo, useRef, useState } from 'preact/hooks'
import { toggleSelection } from '#dashboard/pages/fleet/selection'

/** Selected devices: they stay selected while the search and the filters change. */
export interface Selection {
  readonly selected: ReadonlySet<string>
  /** Whether all devices of the view are selected. */
  readonly isAll: boolean
  readonly onSelect: (identifier: string, isRange: boolean) => void
  /** Absent while not all identifiers are known. */
  readonly onAll: (() => void) | undefined
  readonly onClear: () => void
}

const nothing: ReadonlySet<string> = new Set()
const none: readonly string[] = []

export function useSelection(shown: readonly string[] | undefined, isAllKnown: boolean): Selection {
  const identifiers = shown ?? none
  const [selected, setSelected] = useState(nothing)
  const pressed = useRef<string>()
  const isAll = useMemo(
    () =>
      identifiers.length > 0 && selected.size >= identifiers.length && identifiers.every((each) => selected.has(each)),
    [identifiers, selected],
  )
  return {
    selected,
    isAll,
    onSelect(identifier, isRange) {
      setSelected(toggleSelection(selected, identifiers, identifier, isRange ? pressed.current : undefined))
      pressed.current = identifier
    },
    onAll: isAllKnown ? () => setSelected(isAll ? nothing : new Set([...selected, ...identifiers])) : undefined,
    onClear: () => setSelected(nothing),
  }
}
