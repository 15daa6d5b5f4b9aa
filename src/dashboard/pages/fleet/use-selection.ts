import { useMemo, useRef, useState } from 'preact/hooks'
import { toggleSelection } from '#dashboard/pages/fleet/selection'

const nothing: ReadonlySet<string> = new Set()

export type Selection = ReturnType<typeof useSelection>

/** Selected devices: they stay selected while the search and the filters change. */
export function useSelection(identifiers: readonly string[], isAllKnown: boolean) {
  const [selected, setSelected] = useState(nothing)
  const pressed = useRef<string>()
  const isAllSelected = useMemo(
    () =>
      identifiers.length > 0 && selected.size >= identifiers.length && identifiers.every((each) => selected.has(each)),
    [identifiers, selected],
  )
  return {
    selected,
    isAllSelected,
    onSelect(identifier: string, isRange: boolean) {
      setSelected(toggleSelection(selected, identifiers, identifier, isRange ? pressed.current : undefined))
      pressed.current = identifier
    },
    /** Selects all devices, or none if all are selected. Undefined while not all identifiers are known. */
    onAll: isAllKnown ? () => setSelected(isAllSelected ? nothing : new Set([...selected, ...identifiers])) : undefined,
    onClear: () => setSelected(nothing),
  }
}
